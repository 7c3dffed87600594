// The question to each node between plan and start: whether what its ranks need is there.
#pragma once

#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/active_environment.h"
#include "wire/message.h"

namespace dlaunch {

struct PrerequisiteQuestion {
  wire::CheckPrerequisites message;
  /// What the first lookups of the message are about, one each. Empty on the launcher's own
  /// machine, and with `active_env: optional`.
  std::vector<EnvironmentUse> uses{};
};

/// Reads this machine's files, and remembers what it has read.
[[nodiscard]] LauncherFiles launcher_files(const std::string& workdir);

[[nodiscard]] PrerequisiteQuestion prerequisite_question(const JobSpec& spec,
                                                         const LaunchPlan& plan, NodeRank node,
                                                         const LauncherFiles& files);

/// Whether ranks run elsewhere than on the launcher's own machine.
[[nodiscard]] bool has_remote_nodes(const LaunchPlan& plan);

/// Whether the answer can tell more than a failed exec of the first rank. (Such a failure leaves
/// nothing to stop.)
[[nodiscard]] bool is_worth_asking(const PrerequisiteQuestion& question);

/// A folder that every environment has. (A sync may bring the outer folder, empty.)
[[nodiscard]] std::string bin_of(const ActiveEnvironment& environment);

/// The program that a node has in place of one of an active environment: "the virtual environment
/// /home/me/job/.venv, active here, is not there: python3 would be /usr/bin/python3 (Python 3.11)".
/// Empty: it has the same.
[[nodiscard]] std::string lost_environment(const EnvironmentUse& use, const FoundProgram& found,
                                           const std::vector<std::string>& absent_folders);

/// "/usr/bin/python3 (Python 3.11)"
[[nodiscard]] std::string described(const FoundProgram& found);

/// What to do about environments that nodes lack, a line each.
[[nodiscard]] std::vector<std::string> environment_advice(const ActiveEnvironment& environment,
                                                          const std::string& node,
                                                          const std::string& workdir, bool sync);

}  // namespace dlaunch
