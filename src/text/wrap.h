// Wraps sentences to the width of a screen. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

inline constexpr std::size_t kScreenColumns = 80;

/// Appends `text` in lines of at most `columns`, broken at blanks; the first starts with `first`,
/// the others with `rest`. A longer word gets a line of its own. Every line ends with "\n". Columns
/// count bytes, so lines with non-ASCII letters are shorter.
void append_wrapped(std::string& out, std::string_view first, std::string_view rest,
                    std::string_view text, std::size_t columns = kScreenColumns);

/// A message of dlaunch: prefixed with "dlaunch: ", continuation lines indented; no final "\n".
[[nodiscard]] std::string wrapped_statement(std::string_view text,
                                            std::size_t columns = kScreenColumns);

}  // namespace dlaunch
