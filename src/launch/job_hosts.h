// The hosts that a job starts on: reads hostfiles, the environment and, where needed, Slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobfile/slurm_state.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct HostSelection {
  std::string include;  // only these hosts (jobfile/resolve_hosts.h); empty: all
  std::string exclude;
  bool use_allocation = true;  // the allocation that dlaunch was started in
};

struct JobHosts {
  std::vector<std::string> notes;      // for the user, a sentence each
  std::optional<SlurmTime> slurm_end;  // when our Slurm job's time ends; nullopt: not known
};

/// Replaces spec.hosts by the list of single hosts; an empty list is this machine. A relative
/// hostfile is relative to the current folder. If Slurm is older than 23.02, also sets
/// SLURM_JOB_END_TIME in our environment, as later versions do. Errors: exit_code::kJobFile.
[[nodiscard]] Result<JobHosts> resolve_job_hosts(JobSpec& spec, const HostSelection& selection);

}  // namespace dlaunch
