#include "launch/connect/binary_upload.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "launch/connect/remote_script.h"

namespace dlaunch {

namespace {

constexpr std::size_t kWriteSize = 256 * 1024;

}  // namespace

BinaryUpload::BinaryUpload(EventLoop& loop, UniqueFd to, std::string line, std::string_view binary)
    : to_(loop, std::move(to)), line_(std::move(line)), binary_(binary) {
  watch();
}

void BinaryUpload::taken(std::size_t parts) {
  parts_ = parts;
  if (std::exchange(awaits_more_, false)) write();
}

void BinaryUpload::watch() {
  to_.on_writable([this] { write(); });
}

void BinaryUpload::write() {
  const std::string_view welcome = binary_.substr(0, (parts_ + 1) * kUploadPart);
  const std::string_view left = sent_ < line_.size() ? std::string_view(line_).substr(sent_)
                                                     : welcome.substr(sent_ - line_.size());
  const ssize_t n = ::write(to_.get(), left.data(), std::min(left.size(), kWriteSize));
  if (n > 0) sent_ += static_cast<std::size_t>(n);
  const bool may_go_on = n >= 0 || errno == EAGAIN || errno == EINTR;
  // A node that refuses it says why.
  if (!may_go_on || sent_ == line_.size() + binary_.size()) return to_.close();
  awaits_more_ = sent_ == line_.size() + welcome.size();
  if (!awaits_more_) watch();
}

}  // namespace dlaunch
