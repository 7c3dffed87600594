#pragma once

#include <string_view>

#include "model/result.h"
#include "model/stacks.h"

namespace dlaunch {

/// What stacks_json() wrote, as far as stacks_text() shows it. Errors: kUsage: the text is
/// something else. Pure.
[[nodiscard]] Result<StacksReply> parse_stacks(std::string_view json);

}  // namespace dlaunch
