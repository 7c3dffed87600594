#include "cli/job_options.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>

#include <sys/stat.h>

#include "agent/ranks/near_name.h"
#include "cli/job_file.h"
#include "cli/typed_program.h"
#include "report/plain_text.h"
#include "spec/fields.h"
#include "spec/job_reader.h"
#include "spec/other_files.h"
#include "spec/shell_quote.h"

namespace dlaunch {

namespace {

constexpr const char* kFileInFolder = "job.yaml";
constexpr const char* kWhatItIs = "What the job is";

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Else errno says why not.
bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

bool looks_like_job_file(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
}

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

/// The command line that runs `program` instead of reading it.
std::string as_command(const JobOptions& options, const std::string& program) {
  JobOptions meant = options;
  meant.file.clear();
  const std::vector<std::string> words = words_to_start(program);
  meant.arguments.insert(meant.arguments.begin(), words.begin(), words.end());
  std::string line = "dlaunch run";
  for (const std::string& word : words_of(meant)) line += ' ' + spec::shell_quote(word);
  return line;
}

/// `dlaunch run train.py`: torchrun's and mpirun's habit, and no job file whatever it holds.
bool is_program(const std::string& path, const std::string& text) {
  return !looks_like_job_file(path) && spec::kind_of_script(text).empty() &&
         (path.ends_with(".py") || path.ends_with(".sh") || text.starts_with("#!") ||
          text.starts_with("\x7f"
                           "ELF"));
}

/// "the folder x holds no job.yaml", and which file could have been meant.
std::string nothing_in_folder(const std::string& folder) {
  std::string message = "the folder " + folder + " holds no " + kFileInFolder;
  std::vector<std::string> others;
  std::error_code ignored;  // then there is nothing to suggest
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".yaml") || path.ends_with(".yml")) others.push_back(path);
  }
  if (others.size() == 1)
    message += "; there is " + others[0] + ": dlaunch run " + spec::shell_quote(others[0]);
  return message;
}

Result<std::string> find_file(const JobOptions& options) {
  const std::string& given = options.file;
  if (given.empty()) {
    if (exists(kFileInFolder)) return std::string(kFileInFolder);
    if (!options.module.empty())
      return fail(exit_code::kUsage,
                  "--module is for job files of AI Platform; write the program after --: dlaunch "
                  "run -n 4 -- python3 " +
                      std::string(options.module.ends_with(".py") ? "" : "-m ") + options.module);
    return fail(exit_code::kUsage,
                "no job given: there is no job.yaml in this folder\n"
                "  dlaunch run job.yaml                     a job file\n"
                "  dlaunch run -n 4 -- python train.py      or a command after --");
  }
  const std::string inside =
      is_folder(given) ? given + (given.ends_with('/') ? "" : "/") + kFileInFolder : given;
  if (exists(inside)) return inside;
  if (errno != ENOENT && errno != ENOTDIR)
    return fail_errno(exit_code::kJobFile, "cannot read the job file " + inside, errno);
  if (is_folder(given)) return fail(exit_code::kJobFile, nothing_in_folder(given));
  std::string message = "no job file " + inside;
  if (!looks_like_job_file(given))
    message += "; to run a command, put it after --: " + as_command(options, given);
  else if (const std::string near = near_file(given, "."); looks_like_job_file(near))
    message += ", did you mean \"" + near + "\"?";
  return fail(exit_code::kJobFile, message);
}

/// Whether it is a number that the key of the job file takes. Not "04".
bool is_count(const std::string& value, const spec::Field& field) {
  constexpr std::size_t kDigits = 9;
  if (value.empty() || value.size() > kDigits || (value.front() == '0' && value.size() > 1) ||
      value.find_first_not_of("0123456789") != std::string::npos)
    return false;
  const std::int64_t number = std::stol(value);
  return number >= field.min && number <= field.max;
}

/// Counts that are no counts are mistakes of the command line, not of the job. `what`: the option
/// and its value; `key`: what it sets; `more`: what the option takes besides a number.
Status check_counts_of(const std::string& what, const std::vector<std::string>& values,
                       const char* key, const std::string& more = "") {
  const spec::Field& field = *spec::find_field(key);
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

/// "1" and "4" of "1:4"; a number alone is both.
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
    if (value.empty() || std::find(words.begin(), words.end(), value) != words.end())
      return Status{};
    return check_counts_of(option + ' ' + value, {value}, key, more);
  };
  Status status = check("-n", options.processes, "processes");
  if (status && !options.nodes.empty())
    status = check_counts_of("--nnodes " + options.nodes, ends_of_range(options.nodes), "nodes.min",
                             ", or MIN:MAX as 1:4");
  if (status)
    status = check("--nproc-per-node", options.per_node, "processes_per_node", {"gpu", "auto"},
                   ", gpu or auto");
  if (status) status = check("--gpus", options.gpus, "processes_per_node", {"all"}, ", or all");
  if (status) status = check("--restarts", options.restarts, "restart.max");
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
    return fail(exit_code::kUsage,
                "-n " + options.processes + " and --gpus " + options.gpus +
                    " do not fit together: --gpus N starts a process for each of N GPUs of a node" +
                    (options.nodes.empty() ? "" : ", here on --nnodes " + options.nodes) +
                    "\n         try: -n " + options.processes +
                    " alone, where every process sees all GPUs of its node");
  }
  return std::to_string(ranks / each);
}

/// An option and a --set that fill in the same key.
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
  if (status) status = check("nodes", options.nodes, "--nnodes");
  if (status) status = check("processes_per_node", options.per_node, "--nproc-per-node");
  if (status) status = check("hosts", options.hosts.value_or(""), "--hosts");
  if (status) status = check("hostfile", options.hostfile.value_or(""), "--hostfile");
  return status;
}

/// An empty value is mostly a shell variable that is not set: this machine is not what was meant.
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

/// What the command line says of hosts counts instead of what the file says.
std::vector<std::string> keys_not_to_read(const JobOptions& options,
                                          const std::vector<std::string>& ignored) {
  std::vector<std::string> keys = ignored;
  if (options.hosts || options.hostfile) keys.insert(keys.end(), {"hosts", "hostfile"});
  return keys;
}

/// Arguments for a job file that was not named would be run as a program.
Status check_program(const JobOptions& options) {
  if (!options.file.empty() || options.arguments.empty()) return {};
  const std::string& first = options.arguments.front();
  if (!first.starts_with('-')) return {};
  std::string message = '"' + plain_line(first) + "\" is no program";
  if (exists(kFileInFolder)) {
    message += std::string("; to give ") + kFileInFolder + " these arguments: dlaunch run " +
               kFileInFolder + " --";
    for (const std::string& argument : options.arguments)
      message += ' ' + spec::shell_quote(argument);
  }
  return fail(exit_code::kUsage, message);
}

/// A double-quoted YAML scalar (YAML 1.2, 5.7): every byte that could mean something is escaped.
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
  // The total is what counts then, whatever the file says of each node.
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
  for (const std::string& variable : options.env) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(
          exit_code::kUsage,
          "--env " + variable + ": expected NAME=VALUE, for example --env NCCL_DEBUG=INFO" +
              (equals == 0 ? "" : "; to pass on what this shell has: --set env_pass=" + variable));
    }
    overrides.push_back({"env." + variable.substr(0, equals), quoted(variable.substr(equals + 1)),
                         "--env " + variable});
  }
  if (options.hosts)
    overrides.push_back({"hosts", quoted(*options.hosts), "--hosts " + *options.hosts});
  add("hostfile", options.hostfile.value_or(""), "--hostfile");
  if (options.ssh)
    overrides.push_back({"connect.ssh", quoted(*options.ssh), "--ssh " + *options.ssh});
  for (const std::string& set : options.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(exit_code::kUsage,
                  "--set " + set + ": expected KEY=VALUE, for example --set timeouts.run=2h");
    }
    overrides.push_back({set.substr(0, equals), set.substr(equals + 1), "--set " + set});
  }
  return overrides;
}

/// The options that do not become keys of the job.
std::string without_key(const JobOptions& options) {
  std::string text;
  for (const auto& [name, value] : given_options(options)) {
    if (name == "--include" || name == "--exclude")
      text += ' ' + name + ' ' + spec::shell_quote(value);
  }
  return text + (options.no_container ? " --no-container" : "");
}

std::string folder_name(const std::string& file, const std::string& current_folder) {
  namespace fs = std::filesystem;
  const std::string name =
      (fs::path(current_folder) / file).lexically_normal().parent_path().filename().string();
  return name.empty() ? "job" : name;
}

}  // namespace

void add_job_options(CommandOptions command, JobOptions& options) {
  command.positional("JOB", options.file,
                     "Job file, or a folder with job.yaml\n(default: job.yaml here)");
  add_place_options(command, options);
  CommandOptions job = command.in_group(kWhatItIs);
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

void add_place_options(CommandOptions command, JobOptions& options) {
  CommandOptions places = command.in_group("How many processes, and where");
  places.value("-n,--processes,--np", options.processes, "Number of processes in all", "N");
  places.value("--nproc-per-node,--nproc_per_node", options.per_node, "Processes on each node",
               "N|gpu|auto");
  places.exclude("--nproc-per-node", "-n");
  places.value("--gpus", options.gpus, "A process for each of N GPUs of a node", "N|all");
  places.exclude("--gpus", "--nproc-per-node");
  places.value("--nnodes", options.nodes, "Number of nodes; MIN:MAX: as many as pass", "N");
  places.value("--hosts", options.hosts,
               "Where to run: gpu[01-04],login:8, or auto:\nthe scheduler's nodes", "LIST");
  places.value("--hostfile", options.hostfile,
               "The same from a file of Open MPI, MPICH or\nDeepSpeed, or a list of names", "FILE");
  places.value("--include", options.include, "Of these hosts, only NODE[@NODE...]", "NODES");
  places.value("--exclude", options.exclude, "Of these hosts, all but NODE[@NODE...]", "NODES");
  places.value("--ssh", options.ssh, "Program to reach them with (default: ssh)", "PROGRAM");
  places.exclude("--hostfile", "--hosts");
  places.exclude("--exclude", "--include");
  CommandOptions job = command.in_group(kWhatItIs);
  job.values("--set", options.sets, "Any key of the job file; may be repeated", "KEY=VALUE");
  job.values("--env", options.env, "A variable for every rank; may be repeated", "NAME=VALUE");
  job.flag("--no-container", options.no_container, "Run without the job's containers");
}

namespace {

void leave_out_containers(JobSpec& spec) {
  spec.container.reset();
  for (RoleSpec& role : spec.roles) role.container.reset();
}

}  // namespace

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

namespace {

/// "NAME=VALUE" of an option.
Result<std::vector<NamedValue>> named_values(const std::string& option,
                                             const std::vector<std::string>& given) {
  std::vector<NamedValue> values;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return fail(exit_code::kUsage, option + ' ' + text + ": expected NAME=VALUE, for example " +
                                         option + " data=./data");
    }
    values.push_back({text.substr(0, equals), text.substr(equals + 1), option + ' ' + text});
  }
  return values;
}

Result<ForeignInput> foreign_input(const JobOptions& options, const std::string& file,
                                   const std::string& current_folder) {
  auto inputs = named_values("--input", options.inputs);
  if (!inputs) return tl::unexpected(inputs.error());
  auto outputs = named_values("--output", options.outputs);
  if (!outputs) return tl::unexpected(outputs.error());
  ForeignInput foreign;
  foreign.inputs = std::move(*inputs);
  foreign.outputs = std::move(*outputs);
  foreign.step = options.step;
  if (!options.module.empty())
    foreign.module = {"module", options.module, "--module " + options.module};
  if (!options.package.empty() && !is_folder(options.package))
    return fail(exit_code::kUsage, "--package-path " + options.package +
                                       ": there is no such folder; it is the one that holds the "
                                       "module's package, such as ./trainer");
  if (!options.package.empty())
    foreign.package = {"package", options.package, "--package-path " + options.package};
  foreign.no_container = options.no_container;
  foreign.current_folder = current_folder;
  foreign.folder = (std::filesystem::path(current_folder) / file).parent_path().string();
  foreign.read_file = read_job_file;
  return foreign;
}

/// What the reader needs, and the text of the file; `file` stays empty for a command after "--".
Result<JobInput> find_job(const JobOptions& options, const std::string& current_folder,
                          const std::vector<std::string>& ignored) {
  if (const Status program = check_program(options); !program)
    return tl::unexpected(program.error());
  JobInput input;
  auto overrides = overrides_of(options);
  if (!overrides) return tl::unexpected(overrides.error());
  input.overrides = std::move(*overrides);
  input.arguments = options.arguments;
  const bool is_command = options.file.empty() && !options.arguments.empty();
  if (is_command) {
    if (std::string mistake = batch_script_in(options.arguments); !mistake.empty())
      return fail(exit_code::kJobFile, std::move(mistake));
  } else {
    auto file = find_file(options);
    if (!file) return tl::unexpected(file.error());
    auto text = read_job_file(*file);
    if (!text) return tl::unexpected(text.error());
    if (is_program(*file, *text)) {
      return fail(exit_code::kUsage, *file + " is a program, not a job file; to run it: " +
                                         as_command(options, *file));
    }
    input.file = *file;
    input.text = *text;
    input.ignored = keys_not_to_read(options, ignored);
    input.default_name = folder_name(*file, current_folder);
  }
  auto foreign = foreign_input(options, input.file, current_folder);
  if (!foreign) return tl::unexpected(foreign.error());
  input.foreign = std::move(*foreign);
  return input;
}

}  // namespace

Result<LoadedJob> load_job(const JobOptions& options, const std::string& current_folder,
                           const std::vector<std::string>& ignored) {
  const auto input = find_job(options, current_folder, ignored);
  if (!input) return tl::unexpected(input.error());
  auto reading = read_any_job(*input);
  if (!reading) return tl::unexpected(reading.error());
  LoadedJob job;
  job.spec = std::move(reading->spec);
  job.notes = std::move(reading->notes);
  job.azure_size = std::move(reading->azure_size);
  if (options.no_container) leave_out_containers(job.spec);
  // --gpus N starts N processes on a node, and an error if the node has fewer GPUs.
  if (!options.gpus.empty()) job.spec.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
  job.record.native = std::move(reading->native);
  job.record.typed = "dlaunch run";
  for (const std::string& word : words_of(options))
    job.record.typed += ' ' + spec::shell_quote(word);
  job.record.again = without_key(options);
  job.record.version = DLAUNCH_VERSION;
  if (!input->text) return job;
  job.ignored = std::move(reading->left_out);
  std::erase_if(job.ignored, [&](const std::string& key) {
    return std::find(ignored.begin(), ignored.end(), key) == ignored.end();
  });
  if (job.spec.name.empty()) job.spec.name = input->default_name;
  job.record.given = *input->text;
  job.record.file = input->file;
  job.file = input->file;
  return job;
}

Result<std::string> convert_job(const JobOptions& options, const std::string& current_folder) {
  const auto input = find_job(options, current_folder, {});
  if (!input) return tl::unexpected(input.error());
  return native_job_text(*input, folder_name(input->file, current_folder));
}

}  // namespace dlaunch
