// A job given to Slurm: its script, from what the command line says, and Slurm's queue.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/job_options.h"
#include "spec/slurm_script.h"

namespace dlaunch {

/// Options of `submit` and `export slurm` beside those that name the job.
struct SlurmOptions {
  SlurmRequest request;
};
void add_slurm_options(CommandOptions command, SlurmOptions& options);

struct SlurmScript {
  std::string name;  // of the job
  std::string text;
};
/// Errors as load_job() and slurm_script() have them; kUsage for options of hosts.
[[nodiscard]] Result<SlurmScript> make_slurm_script(const JobOptions& job,
                                                    const SlurmOptions& options);

/// A job in Slurm's queue.
struct QueuedJob {
  std::string id;
  std::string state;    // "PENDING"
  std::string reason;   // why it waits: "Priority"
  std::string comment;  // kSlurmComment: it was submitted by dlaunch
  std::string folder;   // where it was submitted
  std::string name;
};

/// The lines of squeue(1) with kQueueFormat. Pure.
inline constexpr const char* kQueueFormat = "%i|%T|%r|%k|%Z|%j";
[[nodiscard]] std::vector<QueuedJob> read_queue(const std::string& text);

/// Whether this machine is set up for Slurm: without a configuration its commands look for one in
/// the DNS, which may take seconds.
[[nodiscard]] bool is_slurm_here();

/// The caller's own jobs; nullopt: Slurm is not here, or does not answer within 2 s.
[[nodiscard]] std::optional<std::vector<QueuedJob>> ask_queue();

/// Of these jobs; empty where no accounting is kept, or it does not answer within 2 s.
[[nodiscard]] std::map<std::string, std::string> ask_account(const std::set<std::string>& jobs);

}  // namespace dlaunch
