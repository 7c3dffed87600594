// Which ranks decide that the job has ended well (`success` of the job file).
#pragma once

#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// `automatic` made plain: workers where the plan has parameter servers, else all.
[[nodiscard]] Success success_rule(const JobSpec&, const LaunchPlan&);

/// Index = Rank. When all ranks that are true here have exited with 0, the others are stopped, and
/// however they end is no failure.
///  - all: every rank.
///  - chief: rank 0, which is the chief where there is one, else the first worker (TensorFlow's
///    rule for a cluster without a chief), and with other frameworks the rank that writes
///    checkpoints.
///  - workers: chief and workers. Where there are no roles every rank is a worker.
[[nodiscard]] std::vector<bool> deciding_ranks(const JobSpec&, const LaunchPlan&);

}  // namespace dlaunch
