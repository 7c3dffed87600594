#include "plan/user_env.h"

#include <map>

#include "plan/inherited_env.h"
#include "plan/make_plan.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

bool is_pattern(const std::string& text) {
  return text.find_first_of("*?") != std::string::npos;
}

/// Calls `found` for each variable of `env` that `wanted` (names and patterns) selects.
template <class Found>
void select(const std::vector<std::string>& wanted, const Environment& env, const Found& found) {
  for (const std::string& want : wanted) {
    if (!is_pattern(want)) {
      const auto variable = env.find(want);
      if (variable != env.end()) found(want, variable->first, variable->second);
      continue;
    }
    for (const auto& [name, value] : env) {
      if (matches_pattern(want, name) && !is_scrubbed(name)) found(want, name, value);
    }
  }
}

}  // namespace

std::vector<Variable> user_variables(const JobSpec& spec, const Environment& launcher_env) {
  std::map<std::string, Variable> merged;
  select(spec.env_pass, launcher_env,
         [&](const std::string& want, const std::string& name, const std::string& value) {
           merged[name] = {name, value, VariableSource::env_pass, "env_pass: " + want};
         });
  select(spec.env_secret, launcher_env,
         [&](const std::string& want, const std::string& name, const std::string&) {
           merged[name] = {name, "", VariableSource::env_secret, "env_secret: " + want};
         });
  for (const auto& [name, value] : spec.env) {
    merged[name] = {name, value, VariableSource::job_env, "env of the job"};
  }
  std::vector<Variable> variables;
  variables.reserve(merged.size());
  for (auto& [name, variable] : merged) variables.push_back(std::move(variable));
  return variables;
}

std::vector<std::string> missing_variables(const JobSpec& spec, const Environment& launcher_env) {
  std::vector<std::string> missing;
  for (const auto* layer : {&spec.env_pass, &spec.env_secret}) {
    for (const std::string& name : *layer) {
      const bool known = contains(missing, name);
      if (!known && !is_pattern(name) && !launcher_env.contains(name)) missing.push_back(name);
    }
  }
  return missing;
}

Environment secret_environment(const JobSpec& spec, const Environment& launcher_env) {
  Environment secrets;
  select(spec.env_secret, launcher_env,
         [&](const std::string&, const std::string& name, const std::string& value) {
           if (!spec.env.contains(name)) secrets[name] = value;
         });
  return secrets;
}

Environment shared_environment(const LaunchPlan& plan, NodeRank node) {
  Environment env;
  for (const auto* layer : {&plan.variables, &plan.nodes[node.value].variables}) {
    for (const Variable& variable : *layer) {
      if (variable.source != VariableSource::env_secret) env[variable.name] = variable.value;
    }
  }
  return env;
}

Environment own_environment(const RankPlan& rank) {
  Environment env;
  for (const Variable& variable : rank.variables) env[variable.name] = variable.value;
  return env;
}

}  // namespace dlaunch
