// The agent of one node: dispatches the launcher's messages to the services beside this file.
#pragma once

#include <string>

#include "node/guardian.h"
#include "node/progress.h"

namespace dlaunch {

/// The PID namespace that the guardian has prepared for the agent, if any.
struct AgentIsolation {
  UniqueFd outer_proc;  // from enter_pid_namespace(); invalid without a namespace
  std::string refused;  // why there is no namespace although one was requested
};

/// Serves one launcher until it sends Bye or dies, or the guardian dies, then ends this process
/// with the agent's exit code. No process that the agent started is alive afterwards. If the Bye
/// asks the agent to stay, it serves the next session over the same connection, under a new session
/// id and without any state of the previous session.
///
/// With Hello.keep_on_channel_loss, the end of a connection does not mean that the launcher is
/// dead: the ranks continue, and a new connection may arrive through the attach socket until the
/// lease (lease.h) ends.
[[noreturn]] void agent_main(AgentOptions options, AgentIsolation isolation,
                             const UniqueFd& guardian_pidfd, Progress& progress);

}  // namespace dlaunch
