// The guardian: parent of the agent, whose only work is to outlive it. Guardian and agent watch
// each other by pidfd; when one dies, the other kills every descendant until there is none (design
// section 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

/// The launcher's own processes, where guardian and agent are forks of its engine: when one of them
/// has ended, the guardian sees to it that the ranks end, too, should engine and agent be unable
/// to.
struct LauncherWatch {
  UniqueFd front;              // pidfd; invalid: its end is not the end of the run
  UniqueFd engine;             // pidfd; invalid: the agent is connected over a network
  pid_t engine_pid = 0;        // of this PID namespace; 0 without a pidfd
  std::uint32_t grace_ms = 0;  // time that ranks get after the front has ended: timeouts.stop
};

/// How an agent is started, whichever connector brought it to its node.
struct AgentOptions {
  UniqueFd read;   // channel from the launcher
  UniqueFd write;  // channel to the launcher; a duplicate of `read` for a socket
  std::uint32_t node = 0;
  std::uint64_t session = 0;
  /// The agent becomes init of a PID namespace, for itself and all ranks. Where that is refused it
  /// says so in its Facts, and is of no use for starting ranks.
  bool pid_namespace = false;
  /// The agent ends when its launcher has not said Hello by then; 0: it waits.
  std::uint32_t hello_limit_ms = 0;
  std::string machine;  // filled in by guardian_main() where the agent could not find it out
  /// What a scheduler sends to the step that this is goes to the launcher: see
  /// signals_of_schedulers().
  bool reports_signals = false;
  LauncherWatch launcher;
  /// Started by `dlaunch agent --session ...`: what ps(1) shows keeps these words.
  bool has_words = false;
};

/// Those that schedulers send to a job that is to end soon or to do something, and that are not
/// needed here.
[[nodiscard]] std::vector<int> signals_of_schedulers();

/// Exit codes of a guardian beyond 128 + n (its agent was killed by signal n).
inline constexpr int kAgentStopped =
    71;  // the agent showed no sign of life for fence_after and was ended
inline constexpr int kAgentFenced =
    73;  // the launcher was not heard for fence_after: the agent has killed all ranks and ended
inline constexpr int kAgentStuck =
    74;  // the agent waited for a file system when its ranks had to end, and the guardian did it

/// What the exit code of a guardian says of its agent: "its agent was killed by SIGKILL".
[[nodiscard]] std::string how_agent_ended(int code);

/// Runs guardian and agent in this process and a fork of it; returns the exit code. Must be called
/// before any thread exists. Takes over all signals and closes every descriptor but 0, 1, 2 and the
/// channel.
[[nodiscard]] int guardian_main(AgentOptions options);

}  // namespace dlaunch
