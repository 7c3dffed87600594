// Threads for calls that may block where nobody waits for them.
#pragma once

#include <functional>

namespace dlaunch {

/// Runs `work` in a detached thread with a small stack and all signals blocked. 0, or an errno
/// value (EAGAIN: no more threads or memory): then `work` does not run. std::thread would take a
/// stack of the size that `ulimit -s` allows (8 GiB at some sites), and throw if there is no room
/// for it.
[[nodiscard]] int start_detached_thread(std::function<void()> work);

}  // namespace dlaunch
