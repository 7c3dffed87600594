#include "os/unnamed_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace dlaunch {

UniqueFd open_unnamed_file(const std::string& folder, mode_t mode) {
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

int give_name(const UniqueFd& file, const std::string& path) {
  // Since Linux 6.10 for the files that we have opened, before only with CAP_DAC_READ_SEARCH.
  if (::linkat(file.get(), "", AT_FDCWD, path.c_str(), AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return errno;
  // By its entry in /proc, as open(2) shows.
  const std::string entry = "/proc/self/fd/" + std::to_string(file.get());
  const int failed = ::linkat(AT_FDCWD, entry.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
  return failed == 0 ? 0 : errno;
}

}  // namespace dlaunch
