// The stacks of many ranks as one tree: frames that they share appear once. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

struct RankOnHost {
  Rank rank;
  std::string host;
  std::uint32_t threads = 1;  // number of the rank's threads at this place
  bool operator==(const RankOnHost&) const = default;
};

/// "node1, node2, node3 and 5 more": each host once, safe for a terminal.
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

/// Threads that do the same work in each rank: the main threads, or threads with the same name.
struct StackGroup {
  std::string who;  // empty: main threads of the ranks; else "thread loader", "child python x.py"
  std::vector<StackTree> trees;  // the trees have different outermost frames
};

/// The main threads first, then other threads with frames, by name.
[[nodiscard]] std::vector<StackGroup> merge_stacks(const std::vector<RankStacks>& ranks);

/// "reading /mnt/x"; "running"; "stopped by a signal"; "in an uninterruptible wait: reading
/// /mnt/x"; "ended, but its parent has not reaped it". Empty: unknown.
[[nodiscard]] std::string activity_of(const ThreadStack& thread);

/// The process that does the rank's work; skips a shell that waits for its only child. Null: the
/// rank has no process.
[[nodiscard]] const ProcessStack* working_process(const RankStacks& rank);

}  // namespace dlaunch
