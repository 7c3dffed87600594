// Sentences in lines that fit a screen. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

inline constexpr std::size_t kScreenColumns = 80;

/// Appends `text` in lines of at most `columns`, broken at blanks; the first starts with
/// `first`, the others with `rest`. A word that is longer than that has a line of its own. Every
/// line ends with "\n". Columns are counted as bytes: a line with other letters ends sooner.
void append_wrapped(std::string& out, std::string_view first, std::string_view rest,
                    std::string_view text, std::size_t columns = kScreenColumns);

/// What dlaunch itself says: "dlaunch: " before it, its further lines under it; no "\n" at the end.
[[nodiscard]] std::string wrapped_statement(std::string_view text,
                                            std::size_t columns = kScreenColumns);

}  // namespace dlaunch
