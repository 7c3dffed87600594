// Makes program output safe for a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

/// One line (without "\n") as a terminal would show it: removes escape sequences (ECMA-48), keeps
/// the last state of a progress bar ("\r"), and replaces tabs with four spaces, other control and
/// direction-changing characters with '?', and invalid UTF-8 with U+FFFD.
[[nodiscard]] std::string plain_line(std::string_view line);

/// Sanitizes dlaunch's own text that may contain text from another machine: applies plain_line() to
/// each line, cuts it to `columns` and ends it with "\n". After `most` lines, gives only the number
/// of omitted lines.
[[nodiscard]] std::string plain_text(std::string_view text, std::size_t columns = 4096,
                                     std::size_t most = 4096);

/// At most `columns` (> 3) characters, ending in "..." if cut. Each code point counts as one.
[[nodiscard]] std::string cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace dlaunch
