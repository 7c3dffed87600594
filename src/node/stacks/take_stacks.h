// The answer of a node to where its ranks stand: all sources, within the size of an answer.
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

/// Threads of a process with equal stacks become one with a count; the main thread stays by itself.
/// Pure.
void join_equal_threads(ProcessStack& process);

/// Leaves out threads, the largest first and a main thread last, until all ranks together have at
/// most `most` bytes; a remark says so. Pure.
void trim_stacks(std::vector<RankStacks>& ranks, std::size_t most);

}  // namespace dlaunch
