#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/stage/job_staging.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// The targets: the nodes of the plan, or all nodes of the cluster.
enum class StageTo : std::uint8_t { plan, cluster };
/// `cluster` must outlive the staging's settings: it knows the addresses at which nodes may reach
/// each other. `home`: what "~/" in a `from` stands for. `common`: the settings that do not depend
/// on the other arguments. Errors: exit_code::kJobFile, where a line names a node that is not in
/// the cluster.
[[nodiscard]] Result<std::vector<StagePart>> stage_parts(const JobSpec& spec,
                                                         const LaunchPlan& plan,
                                                         const Cluster& cluster, StageTo to,
                                                         const std::string& home,
                                                         StageRunSettings common);

/// The name under which other stagings of the same targets see this one. `run_id`: empty for a
/// command.
[[nodiscard]] std::string stages_as(const std::string& run_id);

/// "gpu01:/data" is on that node, and so is "[fd00::1]:/data"; "./gpu01:/data" is on this machine.
struct StageSourcePath {
  std::string node;  // empty: this machine
  std::string path;
};
[[nodiscard]] StageSourcePath stage_source_path(const std::string& from);

/// What a run of the plan would stage. Reads all the folders. Errors: as WorkdirLister, and
/// exit_code::kJobFile for a source that does not exist.
[[nodiscard]] Result<std::vector<PlannedCopy>> planned_copies(const JobSpec& spec,
                                                              const LaunchPlan& plan,
                                                              const std::string& home);

/// The absolute path of each staged item's target on the nodes.
[[nodiscard]] std::vector<std::string> stage_targets(const JobSpec& spec,
                                                     const std::string& workdir,
                                                     const std::string& home);

}  // namespace dlaunch
