// Sets of ranks as text. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/result.h"

namespace dlaunch {

/// "0-3, 6, 7". `ranks` ascending, without repetition. A list longer than `max_chars` ends with
/// "... and 12 more".
[[nodiscard]] std::string rank_ranges(const std::vector<Rank>& ranks, std::size_t max_chars = 32);

/// "0-3,6-7", shorter and for any numbers; otherwise as above: "0,2,4 and 12 more".
[[nodiscard]] std::string compact_ranges(std::span<const std::uint32_t> numbers,
                                         std::size_t max_chars);

/// "3", "0,2-5": ascending, each once, below `ranks`. Errors (exit_code::kUsage) name the range.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_ranks(const std::string& text,
                                                             std::uint32_t ranks);

}  // namespace dlaunch
