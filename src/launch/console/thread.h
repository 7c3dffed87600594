// Threads with a small stack: std::thread uses what `ulimit -s` allows, 8 GiB if a site has set
// that, and throws if there is no room for it.
#pragma once

#include <functional>

namespace dlaunch {

/// Runs `work` in a detached thread with a stack of 256 KiB and all signals blocked. 0, or an errno
/// value (EAGAIN: no more threads or memory): then `work` does not run. Callable from any thread.
[[nodiscard]] int start_thread(std::function<void()> work);

}  // namespace dlaunch
