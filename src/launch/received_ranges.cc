#include "launch/received_ranges.h"

#include <algorithm>

namespace dlaunch {

void ReceivedRanges::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= begin) {
      begin = before->first;
      end = std::max(end, before->second);
      next = ranges_.erase(before);
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

std::optional<ReceivedRanges::Gap> ReceivedRanges::first_gap(std::uint64_t end) const {
  std::uint64_t begin = 0;
  auto at = ranges_.begin();
  if (at != ranges_.end() && at->first == 0) begin = (at++)->second;
  if (begin >= end) return std::nullopt;
  return Gap{begin, at == ranges_.end() ? end : std::min(end, at->first)};
}

}  // namespace dlaunch
