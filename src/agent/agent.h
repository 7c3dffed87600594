// The agent of one node: routes messages between the launcher's channel and the services beside
// this file.
#pragma once

#include <string>

#include "agent/guardian.h"
#include "agent/progress.h"

namespace dlaunch {

/// What the guardian has prepared around the agent.
struct AgentPlace {
  UniqueFd outer_proc;  // enter_pid_namespace(); invalid where the agent is in none
  std::string refused;  // why it is in none, though it was to be
};

/// Serves one launcher until it says Bye, dies, or the guardian dies, and ends the process with its
/// exit code. Nothing that was started is alive afterwards.
///
/// With Hello.keep_on_channel_loss a connection that ends is no dead launcher: the ranks go on, and
/// a new connection may come by the attach point, until the lease (lease.h) has run out.
[[noreturn]] void agent_main(AgentOptions options, AgentPlace place, const UniqueFd& guardian_pidfd,
                             Progress& progress);

}  // namespace dlaunch
