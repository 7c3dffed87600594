// Turns the options of a command into the job that it plans, checks or runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/job_options.h"
#include "jobfile/slurm_state.h"
#include "launch/engine/run_request.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "runs/job_record.h"

namespace dlaunch {

struct LoadedJob {
  JobSpec spec;
  JobRecord record;                  // for the run folder
  std::string file;                  // as typed; empty: given on the command line
  std::vector<std::string> ignored;  // keys of the file that were ignored
  std::vector<std::string> notes;    // about a job file of another system; one sentence each
  std::string azure_size;            // named by such a file; empty: none
  /// Set by resolve_job_hosts(): when the time limit of our Slurm job ends; nullopt: not known.
  std::optional<SlurmTime> slurm_end = {};
};

/// Finds and reads the job, without the `ignored` keys of its file. Errors: exit_code::kUsage for
/// options that are wrong or contradict each other, kJobFile for the rest.
[[nodiscard]] Result<LoadedJob> load_job(const JobOptions& options,
                                         const std::string& current_folder,
                                         const std::vector<std::string>& ignored = {});

/// The job as a native job file (jobfile/job_reader.h). Errors: as above.
[[nodiscard]] Result<std::string> convert_job(const JobOptions& options,
                                              const std::string& current_folder);

/// Whether hosts come from the scheduler's allocation that dlaunch was started in.
enum class Allocation { used, ignored };

/// Resolves the hosts of the job (launch/job_hosts.h) and keeps their notes in `job`; prints all
/// its notes on stderr, unless `quiet`. Errors: exit_code::kJobFile.
[[nodiscard]] Status resolve_job_hosts(const JobOptions& options, bool quiet, LoadedJob& job,
                                       Allocation allocation = Allocation::used);

/// The options for the engine, with the environment of this process and otherwise the defaults.
/// `folder`: the current one.
[[nodiscard]] RunOptions run_options(LoadedJob job, const std::string& folder);

}  // namespace dlaunch
