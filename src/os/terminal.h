// What kind of a file a console is.
#pragma once

#include <cstddef>
#include <optional>

namespace dlaunch {

struct TerminalSize {
  std::size_t columns = 0;  // 0: the terminal does not say
  std::size_t rows = 0;
};

/// nullopt when `fd` is no terminal (ioctl_tty(2), TIOCGWINSZ).
[[nodiscard]] std::optional<TerminalSize> terminal_size(int fd);

/// A regular file or /dev/null: what is written there is not seen on anybody's screen.
[[nodiscard]] bool is_out_of_sight(int fd);

}  // namespace dlaunch
