// Which node of a chain (sync/chain.h) holds up the nodes after it because its link, or its disk,
// is far slower than the others': it should come last, so that it slows only itself. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/time.h"

namespace dlaunch::sync {

class Pace {
 public:
  static constexpr MonotonicTime kPeriod{std::chrono::seconds(2)};
  static constexpr int kPeriods = 2;            // in a row, before a verdict
  static constexpr std::uint64_t kFar = 4;      // as many times slower than its source
  static constexpr std::uint64_t kBehind = 32;  // blocks; fewer may be on their way

  /// One node, as far as is known.
  struct Progress {
    std::optional<std::size_t> source{};  // the node that feeds it
    std::uint32_t link = 0;               // another number: another connection
    std::uint64_t position = 0;           // blocks that it has
    bool is_over = false;                 // it is done, lost, or needs nothing
  };
  struct Verdict {
    std::size_t node = 0;
    std::size_t source = 0;    // of the link that was watched; perhaps `node` itself
    std::size_t receiver = 0;  // likewise
    std::uint64_t own = 0;     // blocks that went over that link in a period
    std::uint64_t could = 0;   // blocks that the source got in a period
    bool operator==(const Verdict&) const = default;
  };
  /// Call it often, with all nodes. Each node is named at most once. A node that receives slowly is
  /// named if others wait for it. Two such nodes may be neighbours; but if a third one receives
  /// slowly from the same source, or a second one and there is no other, it is that source that
  /// sends slowly. Nothing is known about the launcher's own links, so that the first node is named
  /// only for what it sends.
  [[nodiscard]] std::optional<Verdict> watch(const std::vector<Progress>& nodes, MonotonicTime now);

 private:
  [[nodiscard]] bool is_slow(const std::vector<Progress>& nodes, std::size_t node) const;
  [[nodiscard]] bool sends_slowly(const std::vector<Progress>& nodes, std::size_t source) const;

  std::vector<Progress> before_;  // at the period's beginning
  MonotonicTime since_{0};
  std::vector<std::uint64_t> rates_;  // by node: blocks in its last whole period
  std::vector<int> streaks_;          // by node: periods in a row in which it was slow
  std::map<std::size_t, std::set<std::size_t>> slow_;  // by source: who received slowly from it
  std::set<std::size_t> named_;
};

}  // namespace dlaunch::sync
