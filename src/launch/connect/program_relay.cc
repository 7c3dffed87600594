#include "launch/connect/program_relay.h"

#include <algorithm>

namespace dlaunch {

void ProgramRelay::lacks(NodeId node, MonotonicTime until) {
  over(node, false);
  waiting_[node] = until;
}

void ProgramRelay::has(NodeId node) {
  holders_.try_emplace(node, 0);
}

void ProgramRelay::leave_holder(const std::optional<NodeId>& holder) {
  const auto found = holder ? holders_.find(*holder) : holders_.end();
  if (found != holders_.end() && found->second > 0) --found->second;
}

void ProgramRelay::failed(NodeId node, bool by_holder) {
  const auto found = feeding_.find(node);
  if (found == feeding_.end() || !found->second) return;
  if (by_holder) {
    ++failures_;
    holders_.erase(*found->second);
  } else {
    leave_holder(found->second);
  }
  found->second.reset();
}

void ProgramRelay::cannot_feed(NodeId holder) {
  ++unable_;
  holders_.erase(holder);
}

bool ProgramRelay::is_off() const {
  const bool none_can = unable_ >= kFailures && successes_ == 0 && holders_.empty();
  return closed_ || none_can || (failures_ >= kFailures && failures_ > successes_);
}

void ProgramRelay::over(NodeId node, bool has_it) {
  waiting_.erase(node);
  const auto found = feeding_.find(node);
  if (found == feeding_.end()) return;
  if (found->second && has_it) ++successes_;
  leave_holder(found->second);
  feeding_.erase(found);
}

std::optional<NodeId> ProgramRelay::free_holder() const {
  const auto least = std::min_element(
      holders_.begin(), holders_.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  if (least == holders_.end() || least->second >= kGuests) return std::nullopt;
  return least->first;
}

bool ProgramRelay::launcher_may_feed() const {
  const auto fed =
      std::count_if(feeding_.begin(), feeding_.end(), [](const auto& one) { return !one.second; });
  return holders_.empty() && static_cast<std::size_t>(fed) < kSeeds;
}

std::vector<ProgramRelay::Feed> ProgramRelay::next(MonotonicTime now) {
  std::vector<Feed> feeds;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const bool waits_no_more = is_off() || one->second <= now;
    const auto holder = waits_no_more ? std::nullopt : free_holder();
    if (!waits_no_more && !holder && !launcher_may_feed()) {
      ++one;
      continue;
    }
    if (holder) ++holders_.at(*holder);
    feeding_[one->first] = holder;
    feeds.push_back({one->first, holder});
    one = waiting_.erase(one);
  }
  return feeds;
}

std::optional<MonotonicTime> ProgramRelay::deadline() const {
  std::optional<MonotonicTime> first;
  for (const auto& [node, until] : waiting_) first = std::min(first.value_or(until), until);
  return first;
}

}  // namespace dlaunch
