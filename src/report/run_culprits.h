// Finds the nodes that made a measuring run fail. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runs/run_ending.h"

namespace dlaunch {

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

}  // namespace dlaunch
