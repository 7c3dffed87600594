// Measures between the good nodes of a check: a run of its own with measuring ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/figures/check_records.h"
#include "measure/run/layout.h"
#include "model/check_report.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "report/run_culprits.h"

namespace dlaunch {

struct FabricRun {
  measure::CheckData data;           // node i is the i-th of `nodes`
  std::string failure;               // why there is no data; empty: there is
  std::vector<RunCulprit> culprits;  // nodes that failed; the others may be measured without them
};

/// `nodes`: indices into the hosts of the job. The output of failed ranks is on stderr when this
/// returns. Errors: the check ends with this code, because the run was interrupted or its job
/// refused.
[[nodiscard]] Result<FabricRun> run_fabric_check(const JobSpec& spec,
                                                 const std::vector<CheckedNode>& checked,
                                                 const std::vector<std::uint32_t>& nodes,
                                                 MeasureBackend backend,
                                                 const std::string& current_folder, int verbosity);

}  // namespace dlaunch
