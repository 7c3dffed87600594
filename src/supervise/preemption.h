// How long ranks may go on after a notice that their node will be taken away. Pure.
#pragma once

#include <optional>

#include "model/job_spec.h"

namespace dlaunch {

/// `left`: the time until then. A tenth of it, 1 s to 3 s, is kept for killing what is left, and
/// for reporting the end. If `left` is unknown: `stop_grace`, as in any stop.
[[nodiscard]] Duration grace_after_notice(std::optional<Duration> left, Duration stop_grace);

}  // namespace dlaunch
