// With what the nodes of a check measure, and what is not measured by that. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/check_report.h"
#include "model/result.h"
#include "plan/measured_job.h"

namespace dlaunch {

struct BackendChoice {
  /// NCCL where all nodes have GPUs and can use it, else MPI; never automatic. Errors: kPreflight:
  /// a node that cannot use MPI either, and why, in one sentence.
  Result<MeasureBackend> backend;
  /// Of the code "nccl", where there are GPUs and it is not NCCL: a note for each reason, with all
  /// nodes that have it. None where no node has a GPU: nobody expects NCCL there.
  std::vector<CheckFinding> notes;
};

/// `good`: those of the nodes that are to measure, ascending, at least one.
[[nodiscard]] BackendChoice choose_backend(const std::vector<CheckedNode>& nodes,
                                           const std::vector<std::uint32_t>& good);

}  // namespace dlaunch
