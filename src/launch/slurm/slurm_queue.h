// What Slurm's queue and accounting report about submitted jobs, for `dlaunch runs`.
#pragma once

#include <string>
#include <vector>

#include "runs/run_index.h"

namespace dlaunch {

/// A job in Slurm's queue.
struct QueuedJob {
  std::string id;
  std::string state;    // "PENDING"
  std::string reason;   // why it waits: "Priority"
  std::string comment;  // kSlurmComment: submitted by dlaunch
  std::string folder;   // where it was submitted
  std::string name;
};

inline constexpr const char* kQueueFormat = "%i|%T|%r|%k|%Z|%j";
/// Reads the output of squeue(1) in kQueueFormat. Pure.
[[nodiscard]] std::vector<QueuedJob> read_queue(const std::string& text);

/// Fills in Slurm's state of the runs that have not ended, and returns the waiting jobs that were
/// submitted from the folder of `places`. Asks squeue(1) and sacct(1) for at most 2 s each, and not
/// at all if this machine has no Slurm and no run is in a Slurm job.
[[nodiscard]] std::vector<QueuedJob> ask_slurm(const RunFolders& places, std::vector<RunView>& runs);

}  // namespace dlaunch
