// Runs work that may block in a file system, for a limited time.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <sys/types.h>

namespace dlaunch {

/// Forks a process for `work` and waits for it, at most for `limit`. Returns 0, or the pid of the
/// process if it is still working; it exits when its work ends. If fork(2) fails, the work is done
/// in this process. Must be called before any thread exists.
pid_t do_within(std::chrono::milliseconds limit, const std::function<void()>& work);

struct WatchedWork {
  int code = 0;       // its exit code, or 128 + n
  std::string stuck;  // if the work did not end: which process waits for what (os/stuck.h)
};

/// Runs `work` in its own process, which ends with the caller, and abandons it when it has been in
/// an uninterruptible system call for `limit`. Must be called before any thread exists.
[[nodiscard]] WatchedWork watch_work(std::chrono::seconds limit, const std::function<int()>& work);

}  // namespace dlaunch
