// The options that name a job, shared by the commands that take one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "jobfile/job_reader.h"
#include "model/result.h"

namespace dlaunch {

struct JobOptions {
  std::string file;  // job file or a folder that holds job.yaml
  std::string processes;
  std::string per_node;
  std::string nodes;  // "4", or "1:4" as with torchrun
  std::string gpus;   // a process for each of this many GPUs of a node, or all
  std::string name;
  std::string restarts;
  std::string preload;  // names of modules, with commas
  std::string pty;  // the rank that gets a terminal of its own
  std::vector<std::string> env;         // NAME=VALUE
  std::optional<std::string> hosts;     // a host list, or auto
  std::optional<std::string> hostfile;  // relative to the current folder
  std::optional<std::string> include;   // only these hosts
  std::optional<std::string> exclude;   // all hosts but these
  std::optional<std::string> ssh;       // a program to use instead of ssh
  std::vector<std::string> sets;        // KEY=VALUE
  // For job files of other systems (DialectOptions, jobfile/job_reader.h):
  std::vector<std::string> inputs;   // NAME=VALUE
  std::vector<std::string> outputs;  // NAME=DIR
  std::string step;
  std::string module;
  std::string package;  // a folder, relative to the current one
  bool no_container = false;
  bool sync = false;
  std::vector<std::string> arguments;  // after "--"
};

/// Adds the options for hosts and numbers of processes, and --set.
void add_host_options(const CommandOptions& command, JobOptions& options);

/// Adds all options above.
void add_job_options(CommandOptions command, JobOptions& options);

/// The options, the job file and "--" with the arguments: what `dlaunch run` needs for the same
/// job.
[[nodiscard]] std::vector<std::string> words_of(const JobOptions& options);

/// Whether --set sets the key, or a section that contains it.
[[nodiscard]] bool is_set(const JobOptions& options, std::string_view key);

/// Whether the options give a number of processes.
[[nodiscard]] bool sets_processes(const JobOptions& options);

/// Errors: exit_code::kUsage, for values that the option does not accept and for options that
/// contradict each other.
[[nodiscard]] Result<std::vector<Override>> overrides_of(const JobOptions& options);

}  // namespace dlaunch
