#include "launch/engine/prometheus_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unique_fd.h"
#include "os/write_all.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kOften{5};
// At most about 2 MB/s: a rank has about 1 kB.
constexpr std::size_t kBytesPerSecond = 2'000'000;
constexpr mode_t kReadable = 0644;

std::string path_of(const RunOptions& options) {
  const std::string& file = options.spec.prometheus;
  return file.empty() || file.starts_with('/') ? file : options.current_folder + '/' + file;
}

/// Returns 0 or an errno value.
int write_whole(const std::string& path, const std::string& text) {
  // node_exporter ignores names with another suffix. Other users may write to its folder, too, so
  // no existing file is opened.
  const std::string temporary = path + '.' + std::to_string(::getpid());
  ::unlink(temporary.c_str());
  const UniqueFd file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadable));
  if (!file) return errno;
  int error = write_all(file.get(), text);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

}  // namespace

PrometheusFile::PrometheusFile(EventLoop& loop, const RunOptions& options, Text text, Say say)
    : path_(path_of(options)), text_(std::move(text)), say_(std::move(say)), next_(loop) {}

void PrometheusFile::begin() {
  if (path_.empty()) return;
  const std::string text = text_();
  write(text);
  next_.after(kOften + std::chrono::seconds(text.size() / kBytesPerSecond), [this] { begin(); });
}

void PrometheusFile::end(const Text& text) {
  next_.cancel();
  if (!path_.empty()) write(text());
}

void PrometheusFile::write(const std::string& text) {
  const int error = write_whole(path_, text);
  if (error != 0 && !std::exchange(has_failed_, true))
    say_("cannot write metrics.prometheus " + plain_line(path_) + ": " + errno_text(error));
}

}  // namespace dlaunch
