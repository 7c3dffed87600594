// How the ranks of a run ended, in groups, so that a thousand of them fit on a screen. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "model/report.h"

namespace dlaunch {

/// One phrase for each group of ranks that ended alike, except ranks that the headline names.
/// Order: ranks that failed by themselves (by time), then killed, lost, not startable, stopped,
/// succeeded and not started ones. "rank 4 exited with 1 after 0.3 s", "0-3, 6, 7 were stopped by
/// dlaunch". If `plan` is null, lost nodes have no name.
[[nodiscard]] std::vector<std::string> describe_others(const RunReport& report,
                                                       const LaunchPlan* plan);

/// All ranks, as counts: "6 ranks stopped, 2 killed". Empty without ranks.
[[nodiscard]] std::string count_ends(const RunReport& report);

}  // namespace dlaunch
