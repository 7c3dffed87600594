#include "node/folder_speed.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/stuck.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

bool read_beginning(const std::string& path, std::uint64_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  char bytes[16 * 1024];
  for (std::uint64_t done = 0; done < most;) {
    const ssize_t n = ::read(file.get(), bytes, sizeof bytes);
    if (n <= 0) break;
    done += static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

FolderSpeed read_folder(const std::string& path, const FolderSpeedLimits& limits) {
  FolderSpeed speed;
  speed.path = path;
  const MonotonicTime began = monotonic_now();
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(
      path, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    if (speed.files >= limits.files || monotonic_now() - began >= limits.time) break;
    std::error_code ignored;
    if (!at->is_regular_file(ignored) || at->is_symlink(ignored)) continue;
    const MonotonicTime before = monotonic_now();
    if (!read_beginning(at->path(), limits.bytes_of_each)) continue;
    ++speed.files;
    speed.took_ns += static_cast<std::uint64_t>((monotonic_now() - before).count());
  }
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &::free);
  speed.file_system = file_system_of(real ? real.get() : path);
  return speed;
}

}  // namespace dlaunch
