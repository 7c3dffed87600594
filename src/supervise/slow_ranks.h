// Which ranks of a job are slower than the others, from what they report of their steps. Pure: all
// times come with the values.
//
// The rules:
//  - A rank is measured by the step times that it reports, or, if it reports none, by how many
//    steps it counts. Ranks that report times are compared only with each other, and so are ranks
//    that count.
//  - Ranks are judged once per window: a rank whose steps take kSlow times as long as the median of
//    the others is slow until its steps take less than kFine times as long.
//  - Steps are counted by changes of a counter. A counter that starts over, as in each epoch, or
//    that replaces another one, does not reset the count. A rank that counts, but has made no step
//    in a window, counts as having made half of one.
//  - A window is extended if it allows no judgement: fewer than kLeastRanks ranks report times, and
//    fewer than that many count steps, or the median of those has made fewer than kLeastSteps.
//  - In synchronous training all ranks count the same steps, because each waits for the slowest.
//    Then only the time outside of collectives differs, and only the rank itself can report it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/pulse.h"
#include "model/time.h"

namespace dlaunch {

class SlowRanks {
 public:
  static constexpr double kSlow = 1.5;
  static constexpr double kFine = 1.25;
  static constexpr std::uint32_t kLeastSteps = 5;
  static constexpr std::size_t kLeastRanks = 3;

  struct Change {
    Rank rank;
    bool is_slow = false;  // false: no longer
    double times = 1;      // its step time, divided by the median of the others
    bool operator==(const Change&) const = default;
  };

  explicit SlowRanks(MonotonicTime window) : window_(window) {}

  /// An attempt begins.
  void begin(MonotonicTime now);
  /// What counts a rank's steps.
  enum class Counter : std::uint8_t { none, heartbeats, step };
  /// The counter has this value now.
  void count(Rank rank, Counter by, std::uint64_t value);
  /// The rank reports that a step has taken `seconds`.
  void time(Rank rank, double seconds);
  void ended(Rank rank) { ranks_.erase(rank); }

  /// What has changed since the last window, by rank; also a slow rank that has become twice as
  /// slow, or half as slow.
  [[nodiscard]] std::vector<Change> check(MonotonicTime now);

 private:
  struct OneRank {
    Counter by = Counter::none;
    std::uint64_t value = 0;  // of that counter
    std::uint64_t made = 0;   // steps in this window
    double seconds = 0;       // reported in this window
    std::uint32_t said = 0;
    std::optional<double> told;  // Change::times as last noted, while it is slow
  };

  void compare(const std::map<Rank, double>& step, std::vector<Change>& changes);

  MonotonicTime window_;
  MonotonicTime began_{0};
  std::map<Rank, OneRank> ranks_;
};

/// What is unusual about a node compared with the others, for the question why its ranks are slow:
/// "395 % of 400 % CPU in use, 120 % not by this job's ranks, GPU 3: ..."; empty: nothing.
[[nodiscard]] std::string oddities_of(const NodePulse& node, const std::vector<NodePulse>& others);

}  // namespace dlaunch
