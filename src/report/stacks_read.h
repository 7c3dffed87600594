#pragma once

#include <string_view>

#include "model/result.h"
#include "model/stacks.h"

namespace dlaunch {

/// Reads from the output of stacks_json() what stacks_text() shows. Errors: exit_code::kUsage if
/// the text is something else. Pure.
[[nodiscard]] Result<StacksReply> parse_stacks(std::string_view json);

}  // namespace dlaunch
