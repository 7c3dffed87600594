// What of the ranks' output goes to the console of this process, and how.
#pragma once

#include <optional>
#include <string>

#include "launch/output/output_router.h"
#include "model/environment.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// A terminal where nothing but our own output comes: when the other stream goes through a pipe,
/// the program behind it (tee, less) may write to the same terminal. `environment` as below.
[[nodiscard]] std::optional<LiveTarget> live_target(const Environment& environment);

/// The width of stderr's terminal; if it is unknown, COLUMNS or 80; without one, 80. At least 40.
[[nodiscard]] std::size_t screen_columns(const Environment& environment);

/// False if NO_COLOR has a value (https://no-color.org), or if the terminal is dumb.
[[nodiscard]] bool may_colour(const Environment& environment);

/// Looks at stdout and stderr. `environment`: the caller's; NO_COLOR, and COLUMNS and LINES where
/// the terminal does not say how large it is. `folder`: of the attempt, as people should read it.
[[nodiscard]] OutputRouter::Settings output_settings(const LaunchPlan& plan, const Logs& logs,
                                                     const Environment& environment,
                                                     std::string folder);

/// Nobody looks: of the ranks that would be shown, those on other nodes are followed, so that the
/// run folder has their output while they run. An agent of this machine writes there itself.
void follow_only(const LaunchPlan& plan, OutputRouter::Settings& settings);

}  // namespace dlaunch
