// Finds the nodes that made a run of measuring ranks fail. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/run_ending.h"

namespace dlaunch {

struct RunCulprit {
  std::uint32_t node = 0;  // index into the names
  std::string what;        // "it was lost while ranks measured on it: no sign of life for 15 s"
  bool operator==(const RunCulprit&) const = default;
};

/// `names`: of the run's nodes; one that is there twice is never accused. A node that was lost is a
/// culprit whatever else is said: ranks that miss it end with errors of their own, and may be heard
/// of first. Else it is the node of the first failed rank, where the end of another one does not
/// cause such an end. Empty: nobody can tell.
[[nodiscard]] std::vector<RunCulprit> culprits_of(const RunEnding& ending,
                                                  const std::vector<std::string>& names);

}  // namespace dlaunch
