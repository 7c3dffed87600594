#include "os/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace dlaunch {

std::optional<TerminalSize> terminal_size(int fd) {
  if (::isatty(fd) != 1) return std::nullopt;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return TerminalSize{};
  return TerminalSize{size.ws_col, size.ws_row};
}

bool is_out_of_sight(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return true;  // closed
  // Device 1:3 is /dev/null (admin-guide/devices.txt).
  return S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3));
}

}  // namespace dlaunch
