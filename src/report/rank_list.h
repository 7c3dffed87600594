// Sets of ranks as people write them. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/ids.h"

namespace dlaunch {

/// "0-3, 6, 7". `ranks` ascending, without repetition. A list that would be longer than `max_chars`
/// ends "... and 12 more".
[[nodiscard]] std::string rank_ranges(const std::vector<Rank>& ranks, std::size_t max_chars = 32);

}  // namespace dlaunch
