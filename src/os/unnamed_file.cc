#include "os/unnamed_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace dlaunch {

UniqueFd open_unnamed_file(const std::string& folder, mode_t mode) {
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

int give_name(const UniqueFd& file, const std::string& path) {
  // By its entry in /proc, as open(2) shows: AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH.
  const std::string entry = "/proc/self/fd/" + std::to_string(file.get());
  const int failed = ::linkat(AT_FDCWD, entry.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
  return failed == 0 ? 0 : errno;
}

}  // namespace dlaunch
