// The hosts of a job: where hostfiles are looked for, and the list that a run starts on.
#pragma once

#include <string>

#include "cli/job_options.h"
#include "model/result.h"

namespace dlaunch {

/// Whether a scheduler's allocation that dlaunch was started in counts.
enum class Allocation { used, ignored };

/// Puts the hosts of the job into job.spec.hosts.hosts, one for each name, and leaves
/// `from_scheduler` and `hostfile` empty: an empty list is this machine. A relative hostfile of a
/// job file is relative to that file's folder, one of the command line to the current folder. Says
/// on stderr what a hostfile holds without effect, unless `quiet`. Errors: exit_code::kJobFile.
[[nodiscard]] Status resolve_job_hosts(const JobOptions& options, bool quiet, LoadedJob& job,
                                       Allocation allocation = Allocation::used);

}  // namespace dlaunch
