// Work that may wait for a file system which does not answer, without waiting for it.
#pragma once

#include <chrono>
#include <functional>

#include <sys/types.h>

namespace dlaunch {

/// Forks a process for `work` and waits for it, at most for `limit`. Returns 0, or the pid of a
/// process that is still at it: it goes on by itself and ends with its work. Does the work here where
/// a fork is refused. Must be called before any thread exists.
pid_t do_within(std::chrono::milliseconds limit, const std::function<void()>& work);

}  // namespace dlaunch
