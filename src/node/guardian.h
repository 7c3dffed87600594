// The guardian: parent of the agent, whose only task is to outlive it. Guardian and agent watch
// each other by pidfd; when one dies, the other kills all descendants until none is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

/// The launcher's processes, if guardian and agent are forks of its engine: when one of them has
/// ended, the guardian makes sure that the ranks end, even if engine and agent cannot end them.
struct LauncherWatch {
  UniqueFd front;              // pidfd; invalid: its end does not end the run
  UniqueFd engine;             // pidfd; invalid: the agent is connected over a network
  pid_t engine_pid = 0;        // in this PID namespace; 0 without a pidfd
  std::uint32_t grace_ms = 0;  // time for ranks to end after the front has ended: timeouts.stop
};

/// How a connector of any kind starts an agent.
struct AgentOptions {
  UniqueFd read;   // channel from the launcher
  UniqueFd write;  // channel to the launcher; a duplicate of `read` for a socket
  std::uint32_t node = 0;
  std::uint64_t session = 0;
  /// The agent becomes init of a PID namespace for itself and all ranks. If the kernel refuses, the
  /// agent's Facts say so, and it must not start ranks.
  bool pid_namespace = false;
  /// The agent ends if its launcher has not sent Hello within this time; 0: no limit.
  std::uint32_t hello_limit_ms = 0;
  std::string machine;  // its identity; set by guardian_main() if the agent cannot find it out
  /// Whether signals from a scheduler to this step (signals_of_schedulers()) are reported to the
  /// launcher.
  bool reports_signals = false;
  LauncherWatch launcher;
  /// The agent was started by `dlaunch agent --session ...`, and ps(1) keeps showing these
  /// arguments.
  bool has_arguments = false;
};

/// The signals by which schedulers warn or notify a job, except those that dlaunch itself uses.
[[nodiscard]] std::vector<int> signals_of_schedulers();

/// Exit codes of a guardian besides 128 + n, which means that signal n killed its agent.
inline constexpr int kAgentStopped =
    71;  // the agent made no progress for fence_after and was killed
inline constexpr int kAgentFenced =
    73;  // no message from the launcher for fence_after: the agent killed all ranks and ended
inline constexpr int kAgentStuck =
    74;  // the agent waited for a file system when its ranks had to end; the guardian killed them

/// What a guardian's exit code says about its agent: "its agent was killed by SIGKILL".
[[nodiscard]] std::string how_agent_ended(int code);

/// Runs guardian and agent in this process and a fork of it; returns the exit code. Must be called
/// before any thread exists. Takes over all signals and closes all descriptors except 0, 1, 2 and
/// the channel.
[[nodiscard]] int guardian_main(AgentOptions options);

}  // namespace dlaunch
