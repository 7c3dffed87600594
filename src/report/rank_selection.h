// Ranks as people type them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/result.h"

namespace dlaunch {

/// "3", "0,2-5": ascending, each once, below `ranks`. Errors (exit_code::kUsage) name the range.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_ranks(const std::string& text,
                                                             std::uint32_t ranks);

}  // namespace dlaunch
