// A table as text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dlaunch {

using Cells = std::vector<std::string>;

/// A line for each row, after `indent` blanks and without blanks at its end; columns are two blanks
/// apart, the first `right` of them right-aligned. All rows must have as many cells as the first.
[[nodiscard]] std::string table_text(const std::vector<Cells>& rows, std::size_t indent = 0,
                                     std::size_t right = 0);

}  // namespace dlaunch
