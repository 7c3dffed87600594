// Compact sets of ranks, which are mostly contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "model/ids.h"

namespace dlaunch {

/// `first`, `first + 1`, ... : `count` ranks, at least one.
struct RankSpan {
  Rank first;
  std::uint32_t count = 0;
  auto operator<=>(const RankSpan&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Ascending and not adjacent; equal sets have equal spans.
[[nodiscard]] std::vector<RankSpan> spans_of(std::vector<Rank> ranks);

[[nodiscard]] bool contains(const std::vector<RankSpan>& spans, Rank rank);

/// The number of ranks; 64-bit, so that it cannot overflow.
[[nodiscard]] std::uint64_t count_of(const std::vector<RankSpan>& spans);

}  // namespace dlaunch
