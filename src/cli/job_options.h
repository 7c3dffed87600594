// The options that name a job, shared by `run` and `plan`, and how they become a JobInput.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "report/job_record.h"
#include "spec/slurm_state.h"

namespace dlaunch {

struct JobOptions {
  std::string file;  // job file or a folder that holds job.yaml
  std::string processes;
  std::string per_node;
  std::string nodes;  // "4", or "1:4" as with torchrun
  std::string gpus;   // a process for each of so many GPUs of a node, or all
  std::string name;
  std::string restarts;
  std::vector<std::string> env;         // NAME=VALUE
  std::optional<std::string> hosts;     // a host list, or auto
  std::optional<std::string> hostfile;  // relative to the current folder
  std::optional<std::string> include;   // of the hosts, only these
  std::optional<std::string> exclude;   // of the hosts, all but these
  std::optional<std::string> ssh;       // the program that takes ssh's place
  std::vector<std::string> sets;        // KEY=VALUE
  // For job files of other systems (spec/foreign_input.h):
  std::vector<std::string> inputs;   // NAME=VALUE
  std::vector<std::string> outputs;  // NAME=DIR
  std::string step;
  std::string module;
  std::string package;  // a folder, relative to the current one
  bool no_container = false;
  std::vector<std::string> arguments;  // after "--"
};

/// Adds those of hosts and of numbers of processes, and --set.
void add_place_options(CommandOptions command, JobOptions& options);

/// Adds all options to a command; `arguments` come from split_arguments.
void add_job_options(CommandOptions command, JobOptions& options);

struct LoadedJob {
  JobSpec spec;
  JobRecord record;                  // for the run folder
  std::string file;                  // as typed; empty: given on the command line
  std::vector<std::string> ignored;  // keys of the file that were left out
  std::vector<std::string> notes;    // about a job file of another system; one sentence each
  std::string azure_size;            // that such a file names; empty: none
  /// By resolve_job_hosts(): when the time of our Slurm job ends; nullopt: not known.
  std::optional<SlurmTime> slurm_end = {};
};

/// Finds and reads the job, without the `ignored` keys of its file. Errors: exit_code::kUsage for
/// options that are wrong or contradict, kJobFile for the rest.
[[nodiscard]] Result<LoadedJob> load_job(const JobOptions& options,
                                         const std::string& current_folder,
                                         const std::vector<std::string>& ignored = {});

/// The job as a native job file (spec/job_reader.h). Errors: as above.
[[nodiscard]] Result<std::string> convert_job(const JobOptions& options,
                                              const std::string& current_folder);

/// The options, the job file and "--" with the arguments: what `dlaunch run` needs for the same
/// job.
[[nodiscard]] std::vector<std::string> words_of(const JobOptions& options);

/// Whether --set has given the key, or a section around it.
[[nodiscard]] bool is_set(const JobOptions& options, std::string_view key);

}  // namespace dlaunch
