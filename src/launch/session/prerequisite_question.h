// The question to each node between plan and start: whether what its ranks need exists there.
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
  /// The subjects of the message's first lookups, one each. Empty on the launcher's own machine,
  /// and with `active_env: optional`.
  std::vector<EnvironmentUse> uses{};
};

/// Reads this machine's files, and caches what it has read.
[[nodiscard]] LauncherFiles launcher_files(const std::string& workdir);

[[nodiscard]] PrerequisiteQuestion prerequisite_question(const JobSpec& spec,
                                                         const LaunchPlan& plan, NodeRank node,
                                                         const LauncherFiles& files);

/// Whether the absolute path is a target of the staging, or lies below one.
[[nodiscard]] bool is_staged(const std::vector<std::string>& targets, const std::string& path);
/// Removes what is staged, because it is copied there only before the start.
void leave_out(const std::vector<std::string>& targets, PrerequisiteQuestion& question);

/// Whether ranks run on machines other than the launcher's own.
[[nodiscard]] bool has_remote_nodes(const LaunchPlan& plan);

/// Whether the answer can say more than a failed exec of the first rank. (After such a failure
/// there is nothing to stop.)
[[nodiscard]] bool is_worth_asking(const PrerequisiteQuestion& question);

/// A folder inside the environment that every environment has. (The outer folder proves nothing: a
/// sync may create it empty.)
[[nodiscard]] std::string bin_of(const ActiveEnvironment& environment);

/// The program that a node has instead of one in an active environment: "the virtual environment
/// /home/me/job/.venv, active here, is not there: python3 would be /usr/bin/python3 (Python 3.11)".
/// Empty: the node has the same program.
[[nodiscard]] std::string lost_environment(const EnvironmentUse& use, const FoundProgram& found,
                                           const std::vector<std::string>& absent_folders);

/// "/usr/bin/python3 (Python 3.11)"
[[nodiscard]] std::string described(const FoundProgram& found);

/// What to do about environments that nodes lack, one line each.
[[nodiscard]] std::vector<std::string> environment_advice(const ActiveEnvironment& environment,
                                                          const std::string& node,
                                                          const std::string& workdir, bool sync,
                                                          bool stages);

}  // namespace dlaunch
