#include "node/stacks/brought_py_spy.h"

#include <utility>

#include "os/memory_program.h"
#include "os/write_all.h"

namespace dlaunch {

std::optional<wire::PySpyTaken> BroughtPySpy::take(const wire::PySpyData& data) {
  const auto refuse = [this](std::string why) {
    file_.reset();
    is_refused_ = true;
    return wire::PySpyTaken{0, std::move(why)};
  };
  if (data.offset > 0 && is_refused_) return std::nullopt;
  if (data.offset == 0) {
    is_refused_ = false;
    auto file = memory_file("py-spy");
    if (!file) return refuse(file.error().message);
    file_ = std::move(*file);
    size_ = data.size;
    written_ = 0;
  }
  if (!file_ || data.offset != written_ || data.size != size_)
    return refuse("a piece of it is missing");
  if (const int error = write_all(file_.get(), data.bytes); error != 0)
    return refuse("no memory for it: " + errno_text(error));
  written_ += data.bytes.size();
  return wire::PySpyTaken{written_, ""};
}

std::string BroughtPySpy::path() const {
  return file_ && written_ == size_ ? path_of(file_) : "";
}

}  // namespace dlaunch
