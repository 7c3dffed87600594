#include "plan/lengths.h"

#include <string>

namespace dlaunch {

namespace {

/// Longest string of execve(2) with 4 KiB pages (MAX_ARG_STRLEN), without its final zero byte.
constexpr std::size_t kLongestString = 131072 - 1;

Status check_variable(const std::string& name, std::size_t value_size, VariableSource source) {
  if (name.size() + 1 + value_size <= kLongestString) return {};
  const bool is_ours = source == VariableSource::rank || source == VariableSource::fabric;
  return fail(exit_code::kJobFile, name + (is_ours ? " would have " : " has ") +
                                       std::to_string(value_size) +
                                       " bytes, and Linux allows at most 131072 in one variable; " +
                                       (is_ours ? "use fewer tasks" : "put it in a file"));
}

Status check_variables(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    if (Status s = check_variable(variable.name, variable.value.size(), variable.source); !s)
      return s;
  }
  return {};
}

Status check_arguments(const CommandPlan& command) {
  for (std::size_t i = 0; i < command.argv.size(); ++i) {
    const std::size_t size = command.argv[i].size();
    if (size <= kLongestString) continue;
    const bool is_script = i == 2 && command.argv[1] == "-c";
    return fail(exit_code::kJobFile,
                (is_script ? std::string("the command")
                           : "argument " + std::to_string(i) + " of the command") +
                    " has " + std::to_string(size) +
                    " bytes, and Linux allows at most 131071 in one argument; " +
                    "put it in a file");
  }
  return {};
}

}  // namespace

Status check_lengths(const JobSpec& spec, const PlanContext& context, const LaunchPlan& plan) {
  for (const CommandPlan& command : plan.commands) {
    if (Status s = check_arguments(command); !s) return s;
  }
  if (Status s = check_variables(plan.variables); !s) return s;
  for (const auto& [name, value] : secret_environment(spec, context.launcher_env)) {
    if (Status s = check_variable(name, value.size(), VariableSource::env_secret); !s) return s;
  }
  for (const NodePlan& node : plan.nodes) {
    if (Status s = check_variables(node.variables); !s) return s;
  }
  for (const RankPlan& rank : plan.ranks) {
    if (Status s = check_variables(rank.variables); !s) return s;
  }
  return {};
}

}  // namespace dlaunch
