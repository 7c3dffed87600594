// What ranks on other nodes take from the launcher's environment, where the folders exist there
// (docs/nodes.md, "Environment"). Which do is decided on the node:
// agent/ranks/carried_environment.h. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// PATH, LD_LIBRARY_PATH, VIRTUAL_ENV*, and CONDA_* where CONDA_PREFIX is set.
[[nodiscard]] Environment carried_variables(const Environment& launcher_env);

/// For people: what the node does with a carried variable.
[[nodiscard]] std::string_view carried_reason(std::string_view name);

/// What the ranks of a node are offered, with reasons; nothing on the launcher's own machine.
[[nodiscard]] std::vector<Variable> carried_to(const LaunchPlan&, NodeIndex);

/// What sshd and the login shell tell about their own connection and folder. Ranks do not find it:
/// they outlive the connection, and start in the workdir.
[[nodiscard]] const std::vector<std::string>& login_session_variables();

}  // namespace dlaunch
