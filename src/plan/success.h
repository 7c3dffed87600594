// The ranks whose success ends the job (`success` of the job file).
#pragma once

#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// Resolves `automatic`: workers if the plan has parameter servers, else all.
[[nodiscard]] Success success_rule(const JobSpec&, const LaunchPlan&);

/// Index = Rank; true: the rank decides. When all deciding ranks have exited with 0, the others are
/// stopped, and their exit status does not matter.
/// - all: every rank.
/// - chief: rank 0. It is the chief or, in a cluster without a chief, the first worker
///   (TensorFlow's rule); with other frameworks it is the rank that writes checkpoints.
/// - workers: chief and workers. Without roles every rank is a worker.
[[nodiscard]] std::vector<bool> deciding_ranks(const JobSpec&, const LaunchPlan&);

}  // namespace dlaunch
