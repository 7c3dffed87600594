// A command's request to the engine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobfile/slurm_state.h"
#include "model/cluster.h"
#include "model/environment.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "runs/job_record.h"

namespace dlaunch {

struct RunOptions {
  /// Called in the engine's process before each plan: adapts the job to the facts of the nodes. It
  /// may change the number of processes and what they execute, and nothing else of the job.
  using Prepare = std::function<Status(JobSpec&, const Cluster&)>;

  JobSpec spec;
  JobRecord record;                    // for the run folder
  std::string job_file;                // as typed; empty: the job came from the command line
  std::string current_folder;          // absolute
  Environment environment;             // the caller's
  std::vector<std::string> preflight;  // what the preflight left out or replaced, one sentence each
  std::string preflight_table;         // what the preflight measured; empty: there was none
  std::optional<SlurmTime> slurm_end;  // when the Slurm job's time ends; nullopt: unknown
  bool quiet = false;
  int verbosity = 0;  // 1: -v, 2: -vv
  bool detach = false;
  bool may_ask = false;            // the front has a terminal on which ssh's questions can be asked
  bool plain = false;              // no colour on any console
  bool stdin_is_terminal = false;  // the front's stdin
  bool folder_goes = false;        // the run folder is removed afterwards: no summary names it
  Prepare prepare{};               // empty: the job is unchanged
  int summary_copy = -1;           // a descriptor that gets what summary.json gets; -1: none
};

/// The rank that reads the user's stdin, if any.
[[nodiscard]] inline std::optional<Rank> stdin_rank(const RunOptions& options,
                                                    const LaunchPlan& plan) {
  const JobSpec& job = options.spec;
  if (job.pty) return Rank(*job.pty);
  const bool named = job.stdin_for == StdinFor::rank0 || job.stdin_for == StdinFor::rank;
  const bool is_lone = job.stdin_for == StdinFor::automatic && options.stdin_is_terminal &&
                       plan.ranks.size() == 1;
  return named || is_lone ? std::optional(Rank(job.stdin_rank)) : std::nullopt;
}

}  // namespace dlaunch
