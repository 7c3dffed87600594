// Signals as descriptors: every dlaunch process blocks the signals that it handles and reads them
// from a signalfd(2).
#pragma once

#include <vector>

#include "model/time.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Blocks every signal in the calling thread and resets ignored dispositions to default, so that
/// children that empty their mask start as from a fresh login shell.
void take_all_signals();

/// Blocks `signals` in the calling thread.
void block_signals(const std::vector<int>& signals);

/// True if the disposition of `signal` is SIG_IGN (nohup does that to SIGHUP).
[[nodiscard]] bool is_ignored(int signal);

/// Non-blocking signalfd for signals that are already blocked.
[[nodiscard]] Result<UniqueFd> open_signal_fd(const std::vector<int>& signals);

/// The next pending signal's number; 0 if there is none.
[[nodiscard]] int read_signal(int signal_fd);

/// Like read_signal(), for signals whose repetition has a meaning. timeout(1) of coreutils signals
/// its child and then the child's process group, so a signal that any process repeats within 100 ms
/// counts once. Ctrl-C comes from the kernel, and every press counts.
class RepeatedSignals {
 public:
  [[nodiscard]] int read(int signal_fd);

 private:
  int number_ = 0;  // of the last one that counted
  MonotonicTime at_{0};
};

}  // namespace dlaunch
