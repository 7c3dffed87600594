// Variables of the launcher's environment that ranks on other nodes inherit if the folders exist
// there (docs/reference/nodes.md, "Environment"). The node decides:
// node/ranks/carried_environment.h. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// PATH, LD_LIBRARY_PATH, VIRTUAL_ENV*, and CONDA_* if CONDA_PREFIX is set.
[[nodiscard]] Environment carried_variables(const Environment& launcher_env);

/// Explains what the node does with a carried variable.
[[nodiscard]] std::string_view carried_reason(std::string_view name);

/// The variables offered to the ranks of a node, with reasons; none on the launcher's own machine.
[[nodiscard]] std::vector<Variable> carried_to(const LaunchPlan&, NodeRank);

/// Variables of sshd and the login shell about their connection and folder. Ranks do not get them:
/// they outlive the connection and start in the workdir.
[[nodiscard]] const std::vector<std::string>& login_session_variables();

}  // namespace dlaunch
