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

namespace dlaunch {

/// NCCL where all of them have GPUs and can use it, else MPI. Errors: what none of both can do, and
/// where, in one sentence.
[[nodiscard]] Result<MeasureBackend> choose_backend(const std::vector<CheckedNode>& nodes,
                                                    const std::vector<std::uint32_t>& good);

/// `nodes`: indices into the hosts of the job. The nodes of the data count from 0 among them. A run
/// that fails is an error with its reason; what its ranks have said is on stderr by then.
[[nodiscard]] Result<measure::CheckData> run_fabric_check(const JobSpec& spec,
                                                          const std::vector<std::uint32_t>& nodes,
                                                          MeasureBackend backend,
                                                          const std::string& current_folder,
                                                          int verbosity);

}  // namespace dlaunch
