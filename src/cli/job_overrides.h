// The keys of the job file that options replace.
#pragma once

#include <vector>

#include "cli/job_options.h"
#include "jobfile/job_reader.h"
#include "model/result.h"

namespace dlaunch {

/// Errors: exit_code::kUsage, for values that the option does not accept and for options that
/// contradict each other.
[[nodiscard]] Result<std::vector<Override>> overrides_of(const JobOptions& options);

}  // namespace dlaunch
