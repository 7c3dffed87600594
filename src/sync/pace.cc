#include "sync/pace.h"

#include <algorithm>

namespace dlaunch::sync {

std::optional<Pace::Verdict> Pace::watch(const std::vector<Progress>& nodes, MonotonicTime now) {
  if (before_.size() != nodes.size()) {
    *this = Pace();
    rates_.resize(nodes.size());
    streaks_.resize(nodes.size());
    before_ = nodes;
    since_ = now;
  }
  if (now - since_ < kPeriod) return std::nullopt;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // At its end a node may get little because nothing is left.
    const std::uint64_t got = nodes[i].position - std::min(before_[i].position, nodes[i].position);
    rates_[i] = nodes[i].is_over ? std::max(rates_[i], got) : got;
  }
  std::optional<Verdict> verdict;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    streaks_[i] = is_slow(nodes, i) ? streaks_[i] + 1 : 0;
    const bool is_waited_for = std::any_of(nodes.begin(), nodes.end(), [i](const Progress& one) {
      return one.source == i && !one.is_over;
    });
    if (verdict || streaks_[i] < kPeriods) continue;
    const std::size_t source = *nodes[i].source;
    slow_[source].insert(i);
    const std::size_t culprit = sends_slowly(nodes, source) ? source : i;
    if ((culprit == i && !is_waited_for) || !named_.insert(culprit).second) continue;
    verdict = Verdict{culprit, source, i, rates_[i], rates_[source]};
  }
  before_ = nodes;
  since_ = now;
  return verdict;
}

bool Pace::sends_slowly(const std::vector<Progress>& nodes, std::size_t source) const {
  constexpr std::size_t kEnough = 3;
  const std::set<std::size_t>& slow = slow_.at(source);
  if (slow.size() >= kEnough) return true;
  bool is_all = slow.size() > 1;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    is_all = is_all && (i == source || nodes[i].is_over || slow.contains(i));
  return is_all;
}

/// Whether it received far less than its source has, in this period.
bool Pace::is_slow(const std::vector<Progress>& nodes, std::size_t node) const {
  const Progress& here = nodes[node];
  const Progress& then = before_[node];
  if (here.is_over || !here.source || here.link != then.link) return false;
  const std::size_t source = *here.source;
  // One that has all that its source has waits for the source.
  const bool was_behind = before_[source].position >= then.position + kBehind;
  const bool is_behind = nodes[source].position >= here.position + kBehind;
  // A link that brings nothing at all is broken, which is not decided here.
  return was_behind && is_behind && rates_[node] > 0 && rates_[source] >= kFar * rates_[node];
}

}  // namespace dlaunch::sync
