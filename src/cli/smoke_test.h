// `dlaunch run --smoke`: asks this machine what plan/smoke.h needs to know.
#pragma once

#include "cli/job_options.h"

namespace dlaunch {

/// Replaces the job by its smoke test; returns the line that says what is different.
[[nodiscard]] std::string make_smoke_test(const JobOptions& options, LoadedJob& job);

}  // namespace dlaunch
