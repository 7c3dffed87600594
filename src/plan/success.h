// The ranks whose success ends the job (`success` of the job file).
#pragma once

#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// Resolves `automatic`: workers if the plan has parameter servers, else all.
[[nodiscard]] Success success_rule(const JobSpec&, const LaunchPlan&);

/// Index = Rank. When all ranks marked true have exited with 0, the others are stopped, and their
/// exit status does not matter.
/// - all: every rank.
/// - chief: rank 0, which is the chief if there is one, else the first worker (TensorFlow's rule
///   for a cluster without a chief), and with other frameworks the rank that writes checkpoints.
/// - workers: chief and workers. Without roles every rank is a worker.
[[nodiscard]] std::vector<bool> deciding_ranks(const JobSpec&, const LaunchPlan&);

}  // namespace dlaunch
