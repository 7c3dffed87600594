// Decides for a guardian when it must end the ranks without the agent. Reads only /proc, so a file
// system that does not answer cannot block it.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "node/guardian.h"
#include "node/progress.h"

namespace dlaunch {

enum class AgentEnd {
  ended,    // by itself, or by a signal
  stopped,  // no progress for the fencing time
  stuck,    // the agent waits for a file system, but its ranks must end now
};

class AgentWatch {
 public:
  /// `signals`: a signalfd; its signals are forwarded to the agent. -1: none. `has_arguments`: see
  /// agent_title().
  AgentWatch(pid_t agent, const Progress& progress, LauncherWatch launcher, int signals,
             bool has_arguments);

  /// Returns when the agent has ended (`status` is then its wait status) or must be ended. It has
  /// ended, too, when only a thread that nothing ends is left of it.
  AgentEnd wait(int& status);

 private:
  void look(std::uint32_t tick);
  void show_title();
  [[nodiscard]] bool has_left_threads(std::uint32_t tick) const;
  [[nodiscard]] bool must_end_stopped(std::uint32_t tick) const;
  [[nodiscard]] bool must_end_stuck(std::uint32_t tick) const;

  const pid_t agent_;
  const Progress& progress_;
  LauncherWatch launcher_;
  const int signals_;
  const bool has_arguments_;
  std::string title_;  // in ps(1)
  UniqueFd pidfd_;
  std::uint64_t last_beat_ = 0;
  // Sums of ticks, not elapsed time, so a guardian that was itself stopped for a while raises no
  // alarm.
  std::uint32_t silent_ms_ = 0;      // no beat, and not in state D
  std::uint32_t in_disk_ms_ = 0;     // no beat, and in state D
  std::uint32_t ended_ms_ = 0;  // no beat, and in state Z, although its parent has not reaped it
  bool launcher_gone_ = false;       // the launcher's front or engine has ended
  std::uint32_t gone_ms_ = 0;        // time since then
  std::uint32_t gone_stuck_ms_ = 0;  // the part with agent or engine in state D
};

}  // namespace dlaunch
