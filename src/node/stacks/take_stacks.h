// Finds out where the ranks of one node stand: asks all sources, and limits the size of the answer.
#pragma once

#include <cstddef>
#include <vector>

#include "node/stacks/stack_source.h"

namespace dlaunch {

/// SideProcess takes 1 MiB.
inline constexpr std::size_t kMostStackBytes = std::size_t{900} << 10;

/// Asks the sources in turn, and uses a separate process for each that may hang. Takes at most
/// about as long as `request.end` allows.
[[nodiscard]] std::vector<RankStacks> take_stacks(const StackRequest& request);

/// Threads of a process with equal stacks become one with a count; the main thread stays separate.
/// Pure.
void join_equal_threads(ProcessStack& process);

/// Leaves out threads of each rank, the last ones first and main threads at the end, until the rank
/// has at most its share of `most` bytes. A remark says so. Pure.
void trim_stacks(std::vector<RankStacks>& ranks, std::size_t most);

}  // namespace dlaunch
