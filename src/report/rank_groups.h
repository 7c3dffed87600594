// How the ranks of a run ended, in groups, so that a thousand of them fit on a screen. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "model/report.h"

namespace dlaunch {

/// One phrase for each group of ranks that ended alike, without those that the headline names:
/// first those that failed by themselves, in order of time, then killed, lost, not startable,
/// stopped, succeeded, not started. "rank 4 exited with 1 after 0.3 s", "0-3, 6, 7 were stopped by
/// dlaunch". `plan` may be null: then lost nodes have no name.
[[nodiscard]] std::vector<std::string> describe_others(const RunReport& report,
                                                       const LaunchPlan* plan);

/// All ranks, as counts: "6 ranks stopped, 2 killed". Empty without ranks.
[[nodiscard]] std::string count_ends(const RunReport& report);

}  // namespace dlaunch
