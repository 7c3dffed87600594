// Sets of ranks, short: ranks of a job mostly follow each other.
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

/// Ascending, none touches the next; the same set always gives the same spans.
[[nodiscard]] std::vector<RankSpan> spans_of(std::vector<Rank> ranks);

[[nodiscard]] bool contains(const std::vector<RankSpan>& spans, Rank rank);

/// How many ranks; as a 64-bit number, so that no list of spans can overflow it.
[[nodiscard]] std::uint64_t count_of(const std::vector<RankSpan>& spans);

}  // namespace dlaunch
