// How a guardian decides that its agent's ranks must be ended without the agent. It touches no file
// but those of /proc, so that a file system that does not answer cannot hold it up.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "agent/guardian.h"
#include "agent/progress.h"

namespace dlaunch {

enum class AgentEnd {
  ended,    // by itself, or by a signal
  stopped,  // no progress for the fencing time
  stuck,    // it waits for a file system, and its ranks must not run any longer
};

class AgentWatch {
 public:
  /// `signals`: a signalfd whose signals go to the agent; -1: none. `words`: see agent_title().
  AgentWatch(pid_t agent, const Progress& progress, LauncherWatch launcher, int signals,
             std::string words);

  /// Returns when the agent has ended, with its wait status in `status`, or must be ended.
  AgentEnd wait(int& status);

 private:
  void look(std::uint32_t tick);
  [[nodiscard]] bool must_end_stopped(std::uint32_t tick) const;
  [[nodiscard]] bool must_end_stuck(std::uint32_t tick) const;

  const pid_t agent_;
  const Progress& progress_;
  LauncherWatch launcher_;
  const int signals_;
  const std::string words_;
  bool shows_run_ = false;  // in ps(1)
  UniqueFd pidfd_;
  std::uint64_t last_beat_ = 0;
  // Ticks are counted, not time: a guardian that was itself stopped for a while starts no alarm.
  std::uint32_t silent_ms_ = 0;      // no beat, and not in state D
  std::uint32_t in_disk_ms_ = 0;     // no beat, and in state D
  bool launcher_gone_ = false;       // its front or its engine has ended
  std::uint32_t gone_ms_ = 0;        // since then
  std::uint32_t gone_stuck_ms_ = 0;  // the same, with agent or engine in state D all the time
};

}  // namespace dlaunch
