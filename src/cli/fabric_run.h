// The ranks that measure for a check, as a job of their own on the good nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/collectives_command.h"
#include "measure/check_records.h"
#include "model/check_report.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "report/run_culprits.h"

namespace dlaunch {

struct FabricRun {
  measure::CheckData data;           // its nodes count from 0 among those that were asked for
  std::string failure;               // why there is no data; empty: there is
  std::vector<RunCulprit> culprits;  // of those nodes; the others may be measured without them
};

/// `nodes`: indices into the hosts of the job. What ranks of a failed run have said is on stderr by
/// then. Errors: the check is to end with this code: it was interrupted, or the run refused its own
/// job.
[[nodiscard]] Result<FabricRun> run_fabric_check(const JobSpec& spec,
                                                 const std::vector<CheckedNode>& checked,
                                                 const std::vector<std::uint32_t>& nodes,
                                                 MeasureBackend backend,
                                                 const std::string& current_folder, int verbosity);

}  // namespace dlaunch
