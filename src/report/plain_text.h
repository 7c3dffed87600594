// Making what ranks printed safe to show: a terminal must not obey it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

/// One line (without "\n") as a terminal would have left it: escape sequences (ECMA-48) are taken
/// out, of the states of a progress bar ("\r") the last one stays, tabs become four spaces, other
/// control and direction-changing characters '?', invalid UTF-8 U+FFFD.
[[nodiscard]] std::string plain_line(std::string_view line);

/// Lines of dlaunch's own text that may hold what another machine has sent: each as plain_line(),
/// cut to `columns`, with a "\n" at its end; `most` lines, then one that says how many more there
/// were.
[[nodiscard]] std::string plain_text(std::string_view text, std::size_t columns = 4096,
                                     std::size_t most = 4096);

/// At most `columns` (> 3) characters, the last three "..." when something was cut. Each code point
/// counts as one.
[[nodiscard]] std::string cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace dlaunch
