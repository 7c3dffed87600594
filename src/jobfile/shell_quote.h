// Quoting for POSIX shells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::jobfile {

/// The text as one word of a POSIX shell command (XCU 2.2.2): unchanged if it has no special
/// characters, otherwise in single quotes.
[[nodiscard]] std::string shell_quote(std::string_view text);

/// The words as a line that a POSIX shell splits into them again.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// The words from which shell_line() made `line`. Any other line is split at blanks outside of
/// single quotes.
[[nodiscard]] std::vector<std::string> words_of_line(std::string_view line);

}  // namespace dlaunch::jobfile
