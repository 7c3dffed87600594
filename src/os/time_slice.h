// The kernel's time slice of a dlaunch process.
#pragma once

namespace dlaunch {

/// Asks the kernel to run this thread soon after it wakes, for 0.1 ms at a time, while others compute
/// (sched(7); `sched_runtime` of a SCHED_OTHER task, Linux 6.12; earlier kernels ignore it). Without
/// it, ranks that fork without end starve an agent that is to kill them: a new task gets half a slice,
/// hence the earlier deadline. Children do not inherit it. No effect with another policy or a nice
/// value below 0, which SCHED_FLAG_RESET_ON_FORK would take from the ranks.
void shorten_time_slice();

}  // namespace dlaunch
