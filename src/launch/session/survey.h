// The nodes of a job as a check sees them: who answers, what each has, in what condition it is, and
// whether what the job needs is there. Starts nothing.
#pragma once

#include <optional>
#include <string>

#include "model/check_report.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

struct SurveyOptions {
  bool places = false;      // whether what the job's ranks need is looked for
  bool gpus = true;         // whether nvidia-smi is asked
  bool collectives = true;  // whether the nodes could measure with traffic
  bool reach = true;        // whether the nodes' way to each other is tried
};

struct Survey {
  std::vector<CheckedNode> nodes;  // index = node of the job's hosts, in their order
  Cluster cluster;                 // the same; facts of those that have answered
  /// Why those that have answered cannot meet; empty: they can, or it was not tried.
  std::string no_meeting;
  std::vector<std::uint32_t> unreached;  // with no_meeting: whose fault that is, where it is known
  std::string no_plan;                   // why nobody could look for what the job needs
};

/// Waits at most for timeouts.connect, the limits of the reach check and of the nodes' answers.
/// Must be called before any thread exists. Errors: those of a host list, or of this machine.
[[nodiscard]] Result<Survey> survey_nodes(const JobSpec& spec, const PlanContext& context,
                                          const SurveyOptions& options);

}  // namespace dlaunch
