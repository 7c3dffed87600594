// The agent of one node: routes messages between the launcher's channel and the services beside
// this file.
#pragma once

#include "agent/guardian.h"
#include "agent/progress.h"

namespace dlaunch {

/// Serves one launcher until it says Bye, dies, or the guardian dies, and ends the process with its
/// exit code. Nothing that was started is alive afterwards.
[[noreturn]] void agent_main(AgentOptions options, const UniqueFd& guardian_pidfd,
                             Progress& progress);

}  // namespace dlaunch
