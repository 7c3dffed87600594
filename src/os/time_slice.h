// The kernel's time slice of a dlaunch process.
#pragma once

namespace dlaunch {

/// Asks the kernel to run this thread soon after it wakes, for 0.1 ms at a time, even while others
/// compute (sched(7); `sched_runtime` of a SCHED_OTHER task, Linux 6.12; earlier kernels ignore
/// it). Without this, ranks that fork endlessly starve the agent that should kill them: a new task
/// gets half a slice and therefore an earlier deadline. Children do not inherit the setting. It has
/// no effect with another policy or with a nice value below 0, which SCHED_FLAG_RESET_ON_FORK would
/// take from the ranks.
void shorten_time_slice();

}  // namespace dlaunch
