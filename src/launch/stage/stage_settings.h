#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "node/stage/stage_run.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// For the nodes of the plan, or all of the cluster. `cluster` must outlive the staging's settings:
/// it knows the addresses at which nodes may reach each other. `home`: what "~/" in a `from` stands
/// for.
enum class StageTo : std::uint8_t { plan, cluster };
[[nodiscard]] StageRunSettings stage_settings(const JobSpec& spec, const LaunchPlan& plan,
                                              const Cluster& cluster, StageTo to,
                                              const std::string& home);

/// The absolute path on the nodes of each line of `stage`.
[[nodiscard]] std::vector<std::string> stage_targets(const JobSpec& spec,
                                                     const std::string& workdir,
                                                     const std::string& home);

/// Who stages, for other stagings of the same targets. `run_id`: empty for a command.
[[nodiscard]] std::string stages_as(const std::string& run_id);

}  // namespace dlaunch
