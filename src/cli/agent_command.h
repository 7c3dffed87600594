// `dlaunch agent`: what connectors start on a node. Internal, and in no help text.
#pragma once

#include <string>
#include <vector>

namespace dlaunch {

/// True when these are the words of an internal command, which agent_command() then runs.
[[nodiscard]] bool is_agent_command(const std::vector<std::string>& words);

/// `agent --session HEX --node N [--after HEX] [--pid-namespace]`: says that it is ready on stdout,
/// then is the guardian of an agent whose channel are stdin and stdout; with `--after` only when
/// nothing of that lost session is there any more, else it says that it failed. `agent --attach HEX
/// --node N`: gives stdin and stdout to the agent of that session which runs here
/// (agent/session/attach.h). `agent --probe`: says the build id, for finding out whether this file
/// can be executed where it is. Returns the exit code.
[[nodiscard]] int agent_command(const std::vector<std::string>& words);

}  // namespace dlaunch
