// What kind of file a console is.
#pragma once

#include <cstddef>
#include <optional>

namespace dlaunch {

struct TerminalSize {
  std::size_t columns = 0;  // 0: unknown
  std::size_t rows = 0;
};

/// nullopt if `fd` is not a terminal (ioctl_tty(2), TIOCGWINSZ).
[[nodiscard]] std::optional<TerminalSize> terminal_size(int fd);

/// Whether it is closed, a regular file or /dev/null, so that output is not seen on a screen.
[[nodiscard]] bool is_out_of_sight(int fd);

}  // namespace dlaunch
