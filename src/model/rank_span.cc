#include "model/rank_span.h"

#include <algorithm>

namespace dlaunch {

std::vector<RankSpan> spans_of(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<RankSpan> spans;
  for (const Rank rank : ranks) {
    if (!spans.empty() && rank.value == spans.back().first.value + spans.back().count) {
      ++spans.back().count;
    } else {
      spans.push_back({rank, 1});
    }
  }
  return spans;
}

bool contains(const std::vector<RankSpan>& spans, Rank rank) {
  return std::any_of(spans.begin(), spans.end(), [&](const RankSpan& span) {
    return rank >= span.first && rank.value - span.first.value < span.count;
  });
}

std::uint64_t count_of(const std::vector<RankSpan>& spans) {
  std::uint64_t count = 0;
  for (const RankSpan& span : spans) count += span.count;
  return count;
}

}  // namespace dlaunch
