// The source line under an error message, with a caret.
#pragma once

#include <string>
#include <string_view>

#include "jobfile/source.h"

namespace dlaunch::jobfile {

/// Two lines that fit 80 columns:
///     7 |   proceses_per_node: 4
///       |   ^~~~~~~~~~~~~~~~~
/// Tabs advance to the next multiple of 8, characters a terminal could interpret appear as '?', and
/// long lines are cut around the caret with "..." at the cut ends. A range of several lines is
/// marked up to the end of its first line.
[[nodiscard]] std::string excerpt(std::string_view text, Place place);

}  // namespace dlaunch::jobfile
