#include "cli/job_options.h"

#include <algorithm>
#include <utility>

namespace dlaunch {

namespace {

constexpr const char* kJobGroup = "What the job is";

/// Each option that was given, by the name that the help shows first, with its value.
std::vector<std::pair<std::string, std::string>> given_options(const JobOptions& options) {
  std::vector<std::pair<std::string, std::string>> given;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) given.emplace_back(name, value);
  };
  const auto add_all = [&](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) given.emplace_back(name, value);
  };
  add("-n", options.processes);
  add("--nproc-per-node", options.per_node);
  add("--gpus", options.gpus);
  add("--nnodes", options.nodes);
  add("--hosts", options.hosts.value_or(""));
  add("--hostfile", options.hostfile.value_or(""));
  add("--include", options.include.value_or(""));
  add("--exclude", options.exclude.value_or(""));
  add("--ssh", options.ssh.value_or(""));
  add("--name", options.name);
  add_all("--env", options.env);
  add("--restarts", options.restarts);
  add_all("--set", options.sets);
  add_all("--input", options.inputs);
  add_all("--output", options.outputs);
  add("--step", options.step);
  add("--module", options.module);
  add("--package-path", options.package);
  return given;
}

}  // namespace

void add_job_options(CommandOptions command, JobOptions& options) {
  command.positional("JOB", options.file,
                     "Job file, or a folder with job.yaml\n(default: job.yaml here)");
  add_host_options(command, options);
  CommandOptions job = command.in_group(kJobGroup);
  job.value("--name", options.name, "Its name", "NAME");
  job.value("--restarts,--max-restarts,--max_restarts", options.restarts,
            "How often dlaunch restarts it after a failure\n(default: 0)", "N");
  CommandOptions foreign = command.in_group("For job files of other systems");
  foreign.values("--input", options.inputs,
                 "Value, file or folder of an input that the job\nfile has; may be repeated",
                 "NAME=VALUE");
  foreign.values("--output", options.outputs,
                 "Folder of an output (default: outputs/NAME);\nmay be repeated", "NAME=DIR");
  foreign.value("--step", options.step, "Which step of a job file with several", "NAME");
  foreign.value("--module,--module-name", options.module,
                "Python module to run, when a job file of\nAI Platform names none", "NAME");
  foreign.value("--package-path", options.package, "Folder of that module's package", "DIR");
}

void add_host_options(CommandOptions command, JobOptions& options) {
  CommandOptions hosts = command.in_group("How many processes, and where");
  hosts.value("-n,--processes,--np", options.processes, "Number of processes in all", "N");
  hosts.value("--nproc-per-node,--nproc_per_node", options.per_node, "Processes on each node",
              "N|gpu|auto");
  hosts.exclude("--nproc-per-node", "-n");
  hosts.value("--gpus", options.gpus, "A process for each of N GPUs of a node", "N|all");
  hosts.exclude("--gpus", "--nproc-per-node");
  hosts.value("--nnodes", options.nodes, "Number of nodes; MIN:MAX: as many as pass", "N");
  hosts.value("--hosts", options.hosts,
              "Where to run: gpu[01-04],login:8, or auto:\nthe scheduler's nodes", "LIST");
  hosts.value("--hostfile", options.hostfile,
              "The same from a file of Open MPI, MPICH or\nDeepSpeed, or a list of names", "FILE");
  hosts.value("--include", options.include, "Of these hosts, only NODE[@NODE...]", "NODES");
  hosts.value("--exclude", options.exclude, "Of these hosts, all but NODE[@NODE...]", "NODES");
  hosts.value("--ssh", options.ssh, "Program to reach them with (default: ssh)", "PROGRAM");
  hosts.exclude("--hostfile", "--hosts");
  hosts.exclude("--exclude", "--include");
  CommandOptions job = command.in_group(kJobGroup);
  job.values("--set", options.sets, "Any key of the job file; may be repeated", "KEY=VALUE");
  job.values("--env", options.env, "A variable for every rank; may be repeated", "NAME=VALUE");
  job.flag("--no-container", options.no_container, "Run without the job's containers");
}

std::vector<std::string> words_of(const JobOptions& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : given_options(options)) {
    words.push_back(name);
    words.push_back(value);
  }
  if (options.no_container) words.emplace_back("--no-container");
  if (!options.file.empty()) words.push_back(options.file);
  if (!options.arguments.empty()) words.emplace_back("--");
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  return words;
}

bool is_set(const JobOptions& options, std::string_view key) {
  return std::any_of(options.sets.begin(), options.sets.end(), [&](const std::string& set) {
    const std::string_view given = std::string_view(set).substr(0, set.find('='));
    return given == key || (key.starts_with(given) && key.substr(given.size()).starts_with('.'));
  });
}

bool sets_processes(const JobOptions& options) {
  return !options.processes.empty() || !options.per_node.empty() || is_set(options, "processes") ||
         is_set(options, "processes_per_node");
}

}  // namespace dlaunch
