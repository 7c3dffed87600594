// Measures between the good nodes of a check, by a separate run of measuring ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/figures/check_records.h"
#include "measure/run/layout.h"
#include "model/check_report.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "runs/run_ending.h"

namespace dlaunch {

/// A node that made a measuring run fail.
struct RunCulprit {
  std::uint32_t node = 0;  // index into the names
  std::string what;        // "it was lost while ranks measured on it: no sign of life for 15 s"
  bool operator==(const RunCulprit&) const = default;
};

/// `names`: of the run's nodes; a name that occurs twice is never a culprit. A lost node always is:
/// ranks that miss it end with errors of their own, and their ends may arrive first. Otherwise the
/// culprit is the node of the first failed rank, unless another rank's end can cause such a
/// failure. Empty: unknown.
[[nodiscard]] std::vector<RunCulprit> culprits_of(const RunEnding& ending,
                                                  const std::vector<std::string>& names);

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
