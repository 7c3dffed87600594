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

/// `names`: of the run's nodes; never blames a name that is there twice. A lost node is always a
/// culprit: ranks that miss it end with errors of their own, and their ends may arrive first.
/// Otherwise the culprit is the node of the first failed rank, unless the end of another rank can
/// cause such a failure. Empty: not known.
[[nodiscard]] std::vector<RunCulprit> culprits_of(const RunEnding& ending,
                                                  const std::vector<std::string>& names);

}  // namespace dlaunch
