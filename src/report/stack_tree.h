// The stacks of many ranks as one tree: frames that they share appear once. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

struct RankOnHost {
  Rank rank;
  std::string host;
  std::uint32_t threads = 1;  // how many threads of the rank are meant
  bool operator==(const RankOnHost&) const = default;
};

/// "node1, node2, node3 and 5 more": each once, as a terminal may show them.
[[nodiscard]] std::string hosts_of(const std::vector<RankOnHost>& members);

/// "ranks 0-3, 6"; "rank 5". `members` ascending.
[[nodiscard]] std::string ranks_of(const std::vector<RankOnHost>& members);

/// "ranks 0-3, 6 (node1, node2)", "rank 5 (node2), 4 threads"
[[nodiscard]] std::string heading_of(const std::vector<RankOnHost>& members);

struct StackTree {
  std::vector<RankOnHost> members;  // ascending by rank, each rank once
  std::vector<StackFrame> frames;   // frames that all members share, outermost first
  std::string doing;                // for a leaf: what the thread does there; empty: unknown
  std::vector<StackTree> branches;  // the one with most members first
};

/// Threads that do the same work in each rank: the main threads, or those of one name.
struct StackGroup {
  std::string who;  // empty: main threads of the ranks; else "thread loader", "child python x.py"
  std::vector<StackTree> trees;  // without a common outermost frame
};

/// The main threads first, then those with frames, by name.
[[nodiscard]] std::vector<StackGroup> merge_stacks(const std::vector<RankStacks>& ranks);

/// "reading /mnt/x"; "running"; "stopped by a signal"; "in an uninterruptible wait: reading
/// /mnt/x"; "ended, but its parent has not reaped it". Empty: unknown.
[[nodiscard]] std::string activity_of(const ThreadStack& thread);

/// The process that does the rank's work: a shell that waits for its only child stands for that
/// child. Null: the rank has none.
[[nodiscard]] const ProcessStack* working_process(const RankStacks& rank);

}  // namespace dlaunch
