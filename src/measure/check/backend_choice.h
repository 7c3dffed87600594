// Chooses the back-end of a check's measurements. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/run/layout.h"
#include "model/check_report.h"
#include "model/result.h"

namespace dlaunch {

struct BackendChoice {
  /// NCCL if all nodes have GPUs and can use it, else MPI; never automatic. Errors: kPreflight,
  /// with a node that cannot use MPI either, and why.
  Result<MeasureBackend> backend;
  /// With the code "nccl", if nodes have GPUs but NCCL is not used: one note per reason, with the
  /// nodes that it applies to.
  std::vector<CheckFinding> notes;
};

/// `good`: the nodes that take part in the measurement, ascending, at least one.
[[nodiscard]] BackendChoice choose_backend(const std::vector<CheckedNode>& nodes,
                                           const std::vector<std::uint32_t>& good);

}  // namespace dlaunch
