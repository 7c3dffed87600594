// Which output of the ranks goes to the console of this process, and how.
#pragma once

#include <optional>
#include <string>

#include "launch/output/output_router.h"
#include "model/environment.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// A terminal that shows only our own output. If the other stream goes through a pipe, the program
/// that reads it (tee, less) may write to the same terminal; then none is returned. `environment`
/// as below.
[[nodiscard]] std::optional<LiveTarget> live_target(const Environment& environment);

/// The width of stderr's terminal; if it is unknown, COLUMNS or 80; without one, 80. At least 40.
[[nodiscard]] std::size_t screen_columns(const Environment& environment);

/// False if NO_COLOR has a value (https://no-color.org), or if the terminal is dumb.
[[nodiscard]] bool may_colour(const Environment& environment);

/// Looks at stdout and stderr. `environment`: the caller's, for NO_COLOR, and for COLUMNS and LINES
/// where the terminal has no size. `folder`: of the attempt, as shown to the user.
[[nodiscard]] OutputRouter::Settings output_settings(const LaunchPlan& plan, const Logs& logs,
                                                     const Environment& environment,
                                                     std::string folder);

/// For a run without a console: follows the ranks on other nodes whose output a console would show,
/// so that the run folder gets their output while they run. An agent on this machine writes to the
/// run folder itself.
void follow_only(const LaunchPlan& plan, OutputRouter::Settings& settings);

}  // namespace dlaunch
