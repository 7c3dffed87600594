#include "cli/job_options.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unique_fd.h"
#include "spec/job_reader.h"
#include "spec/shell_quote.h"

namespace dlaunch {

namespace {

// No job file is larger; the reader says so in its own words.
constexpr std::size_t kMaxFile = (std::size_t{1} << 20) + 1;
constexpr const char* kFileInFolder = "job.yaml";

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(exit_code::kJobFile, "cannot read the job file " + path, errno);
  std::string text;
  char buffer[16384];
  ssize_t n = 0;
  while (text.size() < kMaxFile && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  if (n < 0) return fail_errno(exit_code::kJobFile, "cannot read the job file " + path, errno);
  return text;
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

Result<std::string> find_file(const JobOptions& options) {
  const std::string& given = options.file;
  if (given.empty()) {
    if (exists(kFileInFolder)) return std::string(kFileInFolder);
    return fail(exit_code::kUsage,
                "no job given: there is no job.yaml in this folder\n"
                "  dlaunch run job.yaml                     a job file\n"
                "  dlaunch run -n 4 -- python train.py      or a command after --");
  }
  const std::string inside =
      is_folder(given) ? given + (given.ends_with('/') ? "" : "/") + kFileInFolder : given;
  if (exists(inside)) return inside;
  std::string message = "no job file " + inside;
  if (is_folder(given)) {
    const std::string other = inside.substr(0, inside.rfind('.')) + ".yml";
    if (exists(other))
      message += "; there is " + other + ": dlaunch run " + spec::shell_quote(other);
  } else if (!looks_like_job_file(given)) {
    message += "; to run a command, put it after --: " + as_command(options, given);
  }
  return fail(exit_code::kJobFile, message);
}

Result<std::vector<Override>> overrides_of(const JobOptions& options) {
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

std::string job_text_of(const JobOptions& options) {
  std::string text = "# made from the command line of dlaunch run\ncommand: [";
  for (std::size_t i = 0; i < options.arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(options.arguments[i]);
  }
  text += "]\n";
  if (!options.nodes.empty()) text += "nodes: " + options.nodes + '\n';
  if (!options.processes.empty()) text += "processes: " + options.processes + '\n';
  if (!options.per_node.empty()) text += "processes_per_node: " + options.per_node + '\n';
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
  for (const std::string& set : options.sets) add("--set", set);
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
                     "Job file, or a folder with job.yaml (default: job.yaml here)");
  command.value("-n,--processes,--np", options.processes, "Number of processes in all", "N");
  command.value("--nproc-per-node,--nproc_per_node", options.per_node, "Processes on each node",
                "N|gpu|auto");
  command.exclude("--nproc-per-node", "-n");
  command.value("--nnodes", options.nodes, "Number of nodes", "N");
  command.values("--set", options.sets, "Any key of the job file; may be repeated", "KEY=VALUE");
}

Result<LoadedJob> load_job(const JobOptions& options, const std::string& current_folder) {
  JobInput input;
  auto overrides = overrides_of(options);
  if (!overrides) return tl::unexpected(overrides.error());
  input.overrides = std::move(*overrides);
  input.arguments = options.arguments;
  if (options.file.empty() && !options.arguments.empty()) {
    auto spec = read_job(input);
    if (!spec) return tl::unexpected(spec.error());
    return LoadedJob{std::move(*spec), job_text_of(options)};
  }
  auto file = find_file(options);
  if (!file) return tl::unexpected(file.error());
  auto text = read_file(*file);
  if (!text) return tl::unexpected(text.error());
  if (is_program(*file, *text)) {
    return fail(exit_code::kUsage,
                *file + " is a program, not a job file; to run it: " + as_command(options, *file));
  }
  input.file = *file;
  input.text = *text;
  auto spec = read_job(input);
  if (!spec) return tl::unexpected(spec.error());
  if (spec->name.empty()) spec->name = folder_name(*file, current_folder);
  return LoadedJob{std::move(*spec), *text + added_to_file(options)};
}

}  // namespace dlaunch
