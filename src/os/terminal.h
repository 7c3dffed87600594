// Terminals: whether a descriptor is one, its size, and pseudo terminals.
#pragma once

#include <cstddef>
#include <optional>

#include "os/unique_fd.h"

namespace dlaunch {

struct TerminalSize {
  std::size_t columns = 0;  // 0: unknown
  std::size_t rows = 0;
};

/// nullopt if `fd` is not a terminal (ioctl_tty(2), TIOCGWINSZ).
[[nodiscard]] std::optional<TerminalSize> terminal_size(int fd);

/// Whether `fd` is closed, a regular file or /dev/null, so that no output appears on a screen.
[[nodiscard]] bool is_out_of_sight(int fd);

/// A pseudo terminal (pty(7)) for another program; both ends are close-on-exec.
struct PseudoTerminal {
  UniqueFd master;
  UniqueFd slave;
};
/// Errors: errno.
[[nodiscard]] tl::expected<PseudoTerminal, int> open_pseudo_terminal(TerminalSize size);
void set_terminal_size(int fd, TerminalSize size);
/// The terminal then neither echoes its input nor changes its output (termios(3): ECHO, OPOST).
void make_quiet(int terminal);

}  // namespace dlaunch
