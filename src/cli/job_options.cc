#include "cli/job_options.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "jobfile/field_table.h"
#include "text/strings.h"

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
  add("--pty", options.pty);
  add("--preload", options.preload);
  add_all("--set", options.sets);
  add_all("--input", options.inputs);
  add_all("--output", options.outputs);
  add("--step", options.step);
  add("--module", options.module);
  add("--package-path", options.package);
  return given;
}

/// Whether the value is a number that the key takes, without leading zeros.
bool is_count(const std::string& value, const jobfile::Field& field) {
  constexpr std::size_t kDigits = 9;
  if (value.empty() || value.size() > kDigits || (value.front() == '0' && value.size() > 1) ||
      value.find_first_not_of("0123456789") != std::string::npos)
    return false;
  const std::int64_t number = std::stol(value);
  return number >= field.min && number <= field.max;
}

/// A wrong number is a mistake of the command line, not of the job. `what`: the option with its
/// value; `key`: the key that it sets; `more`: what else the option takes.
Status check_counts_of(const std::string& what, const std::vector<std::string>& values,
                       const char* key, const std::string& more = "") {
  const jobfile::Field& field = *jobfile::find_field(key);
  const bool are_counts = std::all_of(values.begin(), values.end(), [&](const std::string& value) {
    return is_count(value, field);
  });
  if (are_counts) return {};
  const bool has_limit = field.max < std::numeric_limits<std::int32_t>::max();
  const std::string range =
      has_limit ? " from " + std::to_string(field.min) + " to " + std::to_string(field.max)
                : ", " + std::to_string(field.min) + " or more";
  return fail(exit_code::kUsage, what + ": expected a number" + range + more);
}

/// "1" and "4" for "1:4"; both the same for a single number.
std::vector<std::string> ends_of_range(const std::string& range) {
  const auto colon = range.find(':');
  if (colon == std::string::npos) return {range, range};
  // A missing end is not a number.
  const auto end = [](const std::string& text) { return text.empty() ? "?" : text; };
  return {end(range.substr(0, colon)), end(range.substr(colon + 1))};
}

Status check_counts(const JobOptions& options) {
  const auto check = [](const std::string& option, const std::string& value, const char* key,
                        const std::vector<std::string>& words = {}, const char* more = "") {
    if (value.empty() || contains(words, value)) return Status{};
    return check_counts_of(option + ' ' + value, {value}, key, more);
  };
  Status status = check("-n", options.processes, "processes");
  if (status && !options.nodes.empty())
    status = check_counts_of("--nnodes " + options.nodes, ends_of_range(options.nodes), "nodes.min",
                             ", or MIN:MAX such as 1:4");
  if (status)
    status = check("--nproc-per-node", options.per_node, "processes_per_node", {"gpu", "auto"},
                   ", gpu or auto");
  if (status) status = check("--gpus", options.gpus, "processes_per_node", {"all"}, ", or all");
  if (status) status = check("--restarts", options.restarts, "restart.max");
  if (status) status = check("--pty", options.pty, "pty");
  return status;
}

/// The value for `nodes`: `--gpus 4` with `-n 8` is two nodes. Empty: not given.
Result<std::string> nodes_of_gpus(const JobOptions& options) {
  if (options.gpus.empty() || options.gpus == "all" || options.processes.empty())
    return options.nodes;
  const unsigned long ranks = std::stoul(options.processes);
  const unsigned long each = std::stoul(options.gpus);
  if (ranks % each != 0 || options.nodes.find(':') != std::string::npos ||
      (!options.nodes.empty() && std::stoul(options.nodes) * each != ranks)) {
    return fail(
        exit_code::kUsage,
        "-n " + options.processes + " and --gpus " + options.gpus +
            " contradict each other: --gpus N starts a process for each of N GPUs of a node" +
            (options.nodes.empty() ? "" : ", here on --nnodes " + options.nodes) +
            "\n         try: -n " + options.processes +
            " alone, where every process sees all GPUs of its node");
  }
  return std::to_string(ranks / each);
}

/// An option and a --set must not set the same key.
Status check_sets(const JobOptions& options) {
  const auto check = [&](const char* key, const std::string& value, const char* option) -> Status {
    if (value.empty()) return {};
    for (const std::string& set : options.sets) {
      if (set.substr(0, set.find('=')) != key) continue;
      return fail(exit_code::kUsage, std::string(option) + ' ' + value + " and --set " + set +
                                         " both set " + key + "; give one of them");
    }
    return {};
  };
  Status status = check("processes", options.processes, "-n");
  if (status) status = check("processes_per_node", options.gpus, "--gpus");
  if (status) status = check("name", options.name, "--name");
  if (status) status = check("restart.max", options.restarts, "--restarts");
  if (status) status = check("pty", options.pty, "--pty");
  if (status) status = check("preload", options.preload, "--preload");
  if (status) status = check("nodes", options.nodes, "--nnodes");
  if (status) status = check("processes_per_node", options.per_node, "--nproc-per-node");
  if (status) status = check("hosts", options.hosts.value_or(""), "--hosts");
  if (status) status = check("hostfile", options.hostfile.value_or(""), "--hostfile");
  return status;
}

/// An empty value usually comes from a shell variable that is not set, and does not mean this
/// machine.
Status check_hosts(const JobOptions& options) {
  const auto check = [](const char* option, const std::optional<std::string>& value) -> Status {
    if (!value || value->find_first_not_of(" \t\r\n") != std::string::npos) return {};
    return fail(exit_code::kUsage, std::string(option) + ": the value is empty");
  };
  Status status = check("--hosts", options.hosts);
  if (status) status = check("--hostfile", options.hostfile);
  if (status) status = check("--include", options.include);
  if (status) status = check("--exclude", options.exclude);
  return status;
}

/// A double-quoted YAML scalar (YAML 1.2, 5.7) with quotes, backslashes and controls escaped.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

void add_job_options(CommandOptions command, JobOptions& options) {
  command.positional("JOB", options.file,
                     "Job file, or a folder with job.yaml\n(default: job.yaml in this folder)");
  add_host_options(command, options);
  CommandOptions job = command.in_group(kJobGroup);
  job.value("--name", options.name, "Name of the job", "NAME");
  job.value("--restarts,--max-restarts,--max_restarts", options.restarts,
            "How many times dlaunch restarts the job after a\nfailure (default: 0)", "N");
  job.flag("--sync", options.sync,
           "Copy the folder to the other nodes first: only what\nchanged, except what .gitignore "
           "names");
  job.value("--pty", options.pty,
            "Give this rank a terminal of its own, connected to\nyours: breakpoint(), pdb", "RANK");
  job.value("--preload", options.preload,
            "Python modules, such as torch, that each node\nimports once for all of its ranks",
            "MODULE[,MODULE...]");
  CommandOptions foreign = command.in_group("For job files of other systems");
  foreign.values("--input", options.inputs,
                 "Value, file or folder of an input that the job\nfile has; may be repeated",
                 "NAME=VALUE");
  foreign.values("--output", options.outputs,
                 "Folder of an output (default: outputs/NAME);\nmay be repeated", "NAME=DIR");
  foreign.value("--step", options.step, "Step to run, if the job file has several", "NAME");
  foreign.value("--module,--module-name", options.module,
                "Python module to run, when a job file of\nAI Platform names none", "NAME");
  foreign.value("--package-path", options.package, "Folder of that module's package", "DIR");
}

void add_host_options(const CommandOptions& command, JobOptions& options) {
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
              "The hosts from a hostfile of Open MPI, MPICH or\nDeepSpeed, or from a list of names",
              "FILE");
  hosts.value("--include", options.include, "Of these hosts, only NODE[@NODE...]", "NODES");
  hosts.value("--exclude", options.exclude, "Of these hosts, all but NODE[@NODE...]", "NODES");
  hosts.value("--ssh", options.ssh, "Program to reach the hosts with (default: ssh)", "PROGRAM");
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
  if (options.sync) words.emplace_back("--sync");
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

namespace {

/// Adds the pairs of --env and --set.
Status add_pairs(const JobOptions& options, std::vector<Override>& overrides) {
  for (const std::string& variable : options.env) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(
          exit_code::kUsage,
          "--env " + variable + ": expected NAME=VALUE, for example --env NCCL_DEBUG=INFO" +
              (equals == 0 || variable.starts_with('-')
                   ? ""
                   : "; to pass the value of this shell: --set env_pass=[" + variable + ']'));
    }
    overrides.push_back({"env." + variable.substr(0, equals), quoted(variable.substr(equals + 1)),
                         "--env " + variable});
  }
  for (const std::string& set : options.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(exit_code::kUsage,
                  "--set " + set + ": expected KEY=VALUE, for example --set timeouts.run=2h");
    }
    overrides.push_back({set.substr(0, equals), set.substr(equals + 1), "--set " + set});
  }
  return {};
}

}  // namespace

Result<std::vector<Override>> overrides_of(const JobOptions& options) {
  if (const Status counts = check_counts(options); !counts) return tl::unexpected(counts.error());
  if (const Status sets = check_sets(options); !sets) return tl::unexpected(sets.error());
  if (const Status hosts = check_hosts(options); !hosts) return tl::unexpected(hosts.error());
  std::vector<Override> overrides;
  const auto add = [&](const char* key, const std::string& value, const std::string& origin) {
    if (!value.empty()) overrides.push_back({key, value, origin + ' ' + value});
  };
  const auto nodes = nodes_of_gpus(options);
  if (!nodes) return tl::unexpected(nodes.error());
  if (!nodes->empty()) {
    const auto ends = ends_of_range(*nodes);
    const std::string range = "{min: " + ends[0] + ", max: " + ends[1] + '}';
    overrides.push_back({"nodes", ends[0] == ends[1] ? ends[0] : range,
                         options.nodes.empty()
                             ? "-n " + options.processes + " --gpus " + options.gpus
                             : "--nnodes " + options.nodes});
  }
  if (options.gpus.empty()) add("processes", options.processes, "-n");
  // A total on the command line counts, whatever the file says per node.
  if (!options.processes.empty() && options.per_node.empty() && options.gpus.empty()) {
    overrides.push_back({"processes_per_node", "auto", "-n " + options.processes});
  }
  add("processes_per_node", options.per_node, "--nproc-per-node");
  if (!options.gpus.empty())
    overrides.push_back({"processes_per_node", options.gpus == "all" ? "gpu" : options.gpus,
                         "--gpus " + options.gpus});
  if (!options.name.empty())
    overrides.push_back({"name", quoted(options.name), "--name " + options.name});
  add("restart.max", options.restarts, "--restarts");
  add("pty", options.pty, "--pty");
  if (options.sync) overrides.push_back({"sync", "true", "--sync"});
  if (!options.preload.empty())
    overrides.push_back({"preload", '[' + options.preload + ']', "--preload " + options.preload});
  if (options.hosts)
    overrides.push_back({"hosts", quoted(*options.hosts), "--hosts " + *options.hosts});
  add("hostfile", options.hostfile.value_or(""), "--hostfile");
  if (options.ssh)
    overrides.push_back({"connect.ssh", quoted(*options.ssh), "--ssh " + *options.ssh});
  if (const Status added = add_pairs(options, overrides); !added)
    return tl::unexpected(added.error());
  return overrides;
}

}  // namespace dlaunch
