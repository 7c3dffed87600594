#include "cli/job_options.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <sys/stat.h>

#include "cli/job_file.h"
#include "report/plain_text.h"
#include "spec/job_reader.h"
#include "spec/shell_quote.h"

namespace dlaunch {

namespace {

constexpr const char* kFileInFolder = "job.yaml";

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

/// The command line that runs `program` instead of reading it.
std::string as_command(const JobOptions& options, const std::string& program) {
  std::string line = "dlaunch run";
  if (!options.processes.empty()) line += " -n " + options.processes;
  if (!options.per_node.empty()) line += " --nproc-per-node " + options.per_node;
  return line + (program.ends_with(".py") ? " -- python3 " : " -- ") + spec::shell_quote(program);
}

/// `dlaunch run train.py`: torchrun's and mpirun's habit, and no job file whatever it holds.
bool is_program(const std::string& path, const std::string& text) {
  return !looks_like_job_file(path) &&
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
                  "run -n 4 -- python3 -m " +
                      options.module);
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
  return fail(exit_code::kJobFile, message);
}

/// Counts that are no counts are mistakes of the command line, not of the job.
Status check_count(const std::string& option, const std::string& value,
                   const std::vector<std::string>& words, const std::string& expected) {
  constexpr std::size_t kDigits = 9;
  if (value.empty() || std::find(words.begin(), words.end(), value) != words.end()) return {};
  const bool is_count = value.size() <= kDigits && value.front() != '0' &&
                        value.find_first_not_of("0123456789") == std::string::npos;
  if (is_count) return {};
  return fail(exit_code::kUsage, option + ' ' + value + ": expected " + expected);
}

Status check_counts(const JobOptions& options) {
  const std::string number = "a number, 1 or more";
  Status status = check_count("-n", options.processes, {}, number);
  if (status) status = check_count("--nnodes", options.nodes, {}, number);
  if (status)
    status = check_count("--nproc-per-node", options.per_node, {"gpu", "auto"},
                         number + ", gpu or auto");
  return status;
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
  add("nodes", options.nodes, "--nnodes");
  add("processes", options.processes, "-n");
  // The total is what counts then, whatever the file says of each node.
  if (!options.processes.empty() && options.per_node.empty()) {
    overrides.push_back({"processes_per_node", "auto", "-n " + options.processes});
  }
  add("processes_per_node", options.per_node, "--nproc-per-node");
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

std::string job_text_of(const JobOptions& options) {
  std::string text = "# made from the command line of dlaunch run\ncommand: [";
  for (std::size_t i = 0; i < options.arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(options.arguments[i]);
  }
  text += "]\n";
  if (!options.nodes.empty()) text += "nodes: " + options.nodes + '\n';
  if (!options.processes.empty()) text += "processes: " + options.processes + '\n';
  if (!options.per_node.empty()) text += "processes_per_node: " + options.per_node + '\n';
  if (options.hosts) text += "hosts: " + quoted(*options.hosts) + '\n';
  if (options.hostfile) text += "hostfile: " + quoted(*options.hostfile) + '\n';
  if (options.ssh) text += "connect: {ssh: " + quoted(*options.ssh) + "}\n";
  if (options.include) text += "# --include " + quoted(*options.include) + '\n';
  if (options.exclude) text += "# --exclude " + quoted(*options.exclude) + '\n';
  for (const std::string& set : options.sets) text += "# --set " + quoted(set) + '\n';
  return text;
}

/// What the command line added to a job file, as comments for the copy in the run folder.
std::string added_to_file(const JobOptions& options) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += "# " + name + ' ' + quoted(value) + '\n';
  };
  add("-n", options.processes);
  add("--nproc-per-node", options.per_node);
  add("--nnodes", options.nodes);
  add("--hosts", options.hosts.value_or(""));
  add("--hostfile", options.hostfile.value_or(""));
  add("--ssh", options.ssh.value_or(""));
  add("--include", options.include.value_or(""));
  add("--exclude", options.exclude.value_or(""));
  for (const std::string& set : options.sets) add("--set", set);
  for (const std::string& input : options.inputs) add("--input", input);
  for (const std::string& output : options.outputs) add("--output", output);
  add("--step", options.step);
  for (const std::string& argument : options.arguments) add("argument", argument);
  return text.empty() ? text : "\n# added on the command line of dlaunch run:\n" + text;
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
}

void add_place_options(CommandOptions command, JobOptions& options) {
  command.value("-n,--processes,--np", options.processes, "Number of processes in all", "N");
  command.value("--nproc-per-node,--nproc_per_node", options.per_node, "Processes on each node",
                "N|gpu|auto");
  command.exclude("--nproc-per-node", "-n");
  command.value("--nnodes", options.nodes, "Number of nodes", "N");
  command.value("--hosts", options.hosts,
                "Where to run: gpu[01-04],login:8, or auto:\nthe scheduler's nodes", "LIST");
  command.value("--hostfile", options.hostfile,
                "Likewise from a file of Open MPI, MPICH,\nDeepSpeed, or of names", "FILE");
  command.value("--include", options.include, "Of these hosts, only NODE[@NODE...]", "NODES");
  command.value("--exclude", options.exclude, "Of these hosts, all but NODE[@NODE...]", "NODES");
  command.value("--ssh", options.ssh, "Program to reach them with (default: ssh)", "PROGRAM");
  command.flag("--no-container", options.no_container, "Run without the job's containers");
  command.exclude("--hostfile", "--hosts");
  command.exclude("--exclude", "--include");
  command.values("--set", options.sets, "Any key of the job file; may be repeated", "KEY=VALUE");
  command.values("--input", options.inputs,
                 "Value, file or folder of an input that the job\nfile has; may be repeated",
                 "NAME=VALUE");
  command.values("--output", options.outputs,
                 "Folder of an output (default: outputs/NAME);\nmay be repeated", "NAME=DIR");
  command.value("--step", options.step, "Of a job file of several steps, which one", "NAME");
  command.value("--module,--module-name", options.module,
                "Python module to run, for a job file of\nAI Platform that names none", "NAME");
  command.value("--package-path", options.package, "Folder of that module's package", "DIR");
}

namespace {

void leave_out_containers(JobSpec& spec) {
  spec.container.reset();
  for (RoleSpec& role : spec.roles) role.container.reset();
}

}  // namespace

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
  if (!is_command) {
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
  if (!input->text) {
    job.text = job_text_of(options);
    return job;
  }
  job.ignored = std::move(reading->left_out);
  std::erase_if(job.ignored, [&](const std::string& key) {
    return std::find(ignored.begin(), ignored.end(), key) == ignored.end();
  });
  if (job.spec.name.empty()) job.spec.name = folder_name(input->file, current_folder);
  job.text = *input->text + added_to_file(options);
  job.file = input->file;
  return job;
}

Result<std::string> convert_job(const JobOptions& options, const std::string& current_folder) {
  const auto input = find_job(options, current_folder, {});
  if (!input) return tl::unexpected(input.error());
  return native_job_text(*input, folder_name(input->file, current_folder));
}

}  // namespace dlaunch
