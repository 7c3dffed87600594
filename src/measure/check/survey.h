// The nodes of a job as a check sees them: which of them answer, what each has, in what condition
// it is, and whether what the job needs is there. Starts no rank.
#pragma once

#include <string>
#include <vector>

#include "measure/check/cluster_check.h"
#include "model/check_report.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

struct Survey {
  std::vector<CheckedNode> nodes;  // index = node of the job's hosts, in their order
  Cluster cluster;                 // the same; facts of those that have answered
  /// Why those that have answered cannot meet; empty: they can, or it was not tried.
  std::string no_meeting;
  std::vector<std::uint32_t> unreached;  // with no_meeting: whose fault that is, where it is known
  std::string no_plan;                   // why nothing of what the job needs was looked for
};

/// Waits at most for the limits of preparation.h. Must be called before any thread exists. Errors:
/// those of rehearse().
[[nodiscard]] Result<Survey> survey_nodes(const JobSpec& spec, const PlanContext& context,
                                          const ClusterCheckOptions& options);

}  // namespace dlaunch
