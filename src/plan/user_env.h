// The user's layers of a rank's environment: env_pass, env_secret, env.
#pragma once

#include <string>
#include <vector>

#include "model/environment.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// All three layers merged and sorted by name; later layers take precedence. Secrets have no value.
/// A pattern in env_pass does not pass scrubbed variables (plan/inherited_env.h); a full name does.
[[nodiscard]] std::vector<Variable> user_variables(const JobSpec&, const Environment& launcher_env);

/// The names (not patterns) in env_pass and env_secret that are not set in `launcher_env`, in the
/// given order, env_pass first.
[[nodiscard]] std::vector<std::string> missing_variables(const JobSpec&,
                                                         const Environment& launcher_env);

}  // namespace dlaunch
