#include "os/terminal.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
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

tl::expected<PseudoTerminal, int> open_pseudo_terminal(TerminalSize size) {
  PseudoTerminal made;
  made.master = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!made.master) return tl::unexpected(errno);
  if (::grantpt(made.master.get()) != 0 || ::unlockpt(made.master.get()) != 0)
    return tl::unexpected(errno);
  // Opened through the master and not by name: another mount namespace may have a different
  // /dev/pts.
  const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  made.slave = UniqueFd(::ioctl(made.master.get(), TIOCGPTPEER, flags));
  if (!made.slave) {  // Linux before 4.13
    const char* const name = ::ptsname(made.master.get());
    if (name != nullptr) made.slave = UniqueFd(::open(name, flags));
  }
  if (!made.slave) return tl::unexpected(errno);
  set_terminal_size(made.master.get(), size);
  termios modes{};
  if (::tcgetattr(made.slave.get(), &modes) == 0) {
    modes.c_iflag |= IUTF8;  // so that backspace deletes a whole character
    ::tcsetattr(made.slave.get(), TCSANOW, &modes);
  }
  return made;
}

void set_terminal_size(int fd, TerminalSize size) {
  winsize wanted{};
  wanted.ws_row = static_cast<unsigned short>(size.rows);
  wanted.ws_col = static_cast<unsigned short>(size.columns);
  ::ioctl(fd, TIOCSWINSZ, &wanted);
}

void make_quiet(int terminal) {
  termios modes{};
  if (::tcgetattr(terminal, &modes) != 0) return;
  modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ::tcsetattr(terminal, TCSANOW, &modes);
}

}  // namespace dlaunch
