// The source line under an error message, with a caret.
#pragma once

#include <string>
#include <string_view>

#include "spec/source.h"

namespace dlaunch::spec {

/// Two lines that fit 80 columns:
///     7 |   proceses_per_node: 4
///       |   ^~~~~~~~~~~~~~~~~
/// Tabs go to the next multiple of 8, what a terminal could act on is shown as '?', long lines are
/// cut around the caret with "..." at the cut ends. A place of several lines is marked up to its
/// first line's end.
[[nodiscard]] std::string excerpt(std::string_view text, Place place);

}  // namespace dlaunch::spec
