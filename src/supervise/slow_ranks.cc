#include "supervise/slow_ranks.h"

#include <algorithm>

namespace dlaunch {

namespace {

// What is unusual about a node.
constexpr std::uint32_t kBusyPercent = 95;    // of all its CPU time
constexpr std::uint32_t kOthersPercent = 10;  // of it, used by others than the job's ranks
constexpr std::uint32_t kMemoryStallPermille = 50;
constexpr double kLowClock = 0.8;  // of the median of the others

constexpr double kHalf = 0.5;  // a step

/// `values`: in any order, at least one. Of two in the middle, the lower one.
template <class Value>
Value median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void add(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : ", ") + more;
}

}  // namespace

void SlowRanks::begin(MonotonicTime now) {
  ranks_.clear();
  began_ = now;
}

void SlowRanks::count(Rank rank, Counter by, std::uint64_t value) {
  OneRank& one = ranks_[rank];
  if (one.by == by && value > one.value) one.made += value - one.value;
  one.by = by;
  one.value = value;
}

void SlowRanks::time(Rank rank, double seconds) {
  if (!(seconds > 0)) return;
  OneRank& one = ranks_[rank];
  one.seconds += seconds;
  ++one.said;
}

std::vector<SlowRanks::Change> SlowRanks::check(MonotonicTime now) {
  std::vector<Change> changes;
  if (now - began_ < window_) return changes;
  std::map<Rank, double> said;
  std::map<Rank, double> counted;
  std::vector<std::uint64_t> steps;
  for (const auto& [rank, one] : ranks_) {
    if (one.said > 0) {
      said[rank] = one.seconds / one.said;
    } else if (one.by != Counter::none) {
      counted[rank] = 1 / std::max(static_cast<double>(one.made), kHalf);
      steps.push_back(one.made);
    }
  }
  const bool is_counted = counted.size() >= kLeastRanks && median(steps) >= kLeastSteps;
  if (!is_counted && said.size() < kLeastRanks) return changes;
  if (is_counted) compare(counted, changes);
  if (said.size() >= kLeastRanks) compare(said, changes);
  for (auto& [rank, one] : ranks_) {
    one.made = 0;
    one.seconds = 0;
    one.said = 0;
  }
  began_ = now;
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.rank < b.rank; });
  return changes;
}

void SlowRanks::compare(const std::map<Rank, double>& step, std::vector<Change>& changes) {
  std::vector<double> sorted;
  sorted.reserve(step.size());
  for (const auto& [rank, its] : step) sorted.push_back(its);
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = (sorted.size() - 2) / 2;  // without the rank's own
  for (const auto& [rank, its] : step) {
    const double times = its / sorted[its > sorted[middle] ? middle : middle + 1];
    std::optional<double>& told = ranks_.at(rank).told;
    if (told ? times < kFine : times < kSlow) {
      if (told) changes.push_back({rank, false, times});
      told.reset();
    } else if (!told || times >= 2 * *told || 2 * times <= *told) {
      if (times >= kSlow) changes.push_back({rank, true, times});
      told = times;
    }
  }
}

std::string oddities_of(const NodePulse& node, const std::vector<NodePulse>& others) {
  std::string text;
  const std::uint32_t by_others =
      node.cpu_percent - std::min(node.ranks_cpu_percent, node.cpu_percent);
  // Ranks that fill their node by themselves are not unusual.
  if (node.cores > 0 && node.cpu_percent >= kBusyPercent * node.cores &&
      by_others >= kOthersPercent * node.cores)
    add(text, std::to_string(node.cpu_percent) + " % of " + std::to_string(100 * node.cores) +
                  " % CPU in use, " + std::to_string(by_others) + " % not by this job's ranks");
  std::vector<std::uint32_t> clocks;
  for (const NodePulse& other : others) {
    if (other.mhz > 0) clocks.push_back(other.mhz);
  }
  if (node.mhz > 0 && !clocks.empty()) {
    const std::uint32_t usual = median(std::move(clocks));
    if (node.mhz < kLowClock * usual)
      add(text, "its CPUs run at " + std::to_string(node.mhz) + " MHz, those of other nodes at " +
                    std::to_string(usual));
  }
  if (node.memory_stall_permille >= kMemoryStallPermille)
    add(text, "processes waited for memory for " + std::to_string(node.memory_stall_permille / 10) +
                  " % of the time");
  for (const std::string& remark : node.remarks) add(text, remark);
  return text;
}

}  // namespace dlaunch
