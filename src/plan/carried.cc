#include "plan/carried.h"

namespace dlaunch {

Environment carried_variables(const Environment& launcher_env) {
  Environment carried;
  const bool conda = launcher_env.contains("CONDA_PREFIX");
  const bool venv = launcher_env.contains("VIRTUAL_ENV");
  for (const auto& [name, value] : launcher_env) {
    const bool is_path = name == "PATH" || name == "LD_LIBRARY_PATH";
    if ((is_path && !value.empty()) || (conda && name.starts_with("CONDA_")) ||
        (venv && name.starts_with("VIRTUAL_ENV")))
      carried.emplace(name, value);
  }
  return carried;
}

std::string_view carried_reason(std::string_view name) {
  if (name.starts_with("CONDA_")) return "from here, if CONDA_PREFIX exists there";
  if (name.starts_with("VIRTUAL_ENV")) return "from here, if that folder exists there";
  return "from here, entries that exist there; then the node's own";
}

std::vector<Variable> carried_to(const LaunchPlan& plan, NodeRank node) {
  std::vector<Variable> variables;
  if (!plan.nodes[node.value].is_remote) return variables;
  for (const auto& [name, value] : plan.carried)
    variables.push_back({name, value, VariableSource::carried, std::string(carried_reason(name))});
  return variables;
}

const std::vector<std::string>& login_session_variables() {
  // sshd(8), "ENVIRONMENT". SSH_AUTH_SOCK stays: agent forwarding is intentional.
  static const std::vector<std::string> kList = {"SSH_CLIENT", "SSH_CONNECTION",
                                                 "SSH_ORIGINAL_COMMAND", "SSH_TTY", "OLDPWD"};
  return kList;
}

}  // namespace dlaunch
