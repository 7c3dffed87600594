// The nodes of a job as a check sees them: which answer, what each has, its condition, and whether
// what the job needs exists there. Starts nothing.
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
  bool places = false;      // look for what the job's ranks need
  bool gpus = true;         // query nvidia-smi
  bool collectives = true;  // find out whether the nodes can measure with traffic
  bool reach = true;        // test whether the nodes reach each other
};

struct Survey {
  std::vector<CheckedNode> nodes;  // index = node of the job's hosts, in their order
  Cluster cluster;                 // the same; facts of those that have answered
  /// Why those that have answered cannot meet; empty: they can, or it was not tested.
  std::string no_meeting;
  std::vector<std::uint32_t> unreached;  // with no_meeting: the nodes at fault, if known
  std::string no_plan;                   // why the job's needs could not be checked
};

/// Waits at most for timeouts.connect, the limits of the reach check and of the nodes' answers.
/// Must be called before any thread exists. Errors: those of a host list, or of this machine.
[[nodiscard]] Result<Survey> survey_nodes(const JobSpec& spec, const PlanContext& context,
                                          const SurveyOptions& options);

}  // namespace dlaunch
