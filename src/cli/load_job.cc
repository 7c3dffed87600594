#include "cli/load_job.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/advice.h"
#include "cli/job_options.h"
#include "jobfile/job_reader.h"
#include "jobfile/other_files.h"
#include "jobfile/shell_quote.h"
#include "jobfile/source.h"
#include "launch/front/terminal_prompt.h"
#include "launch/job_hosts.h"
#include "node/ranks/near_name.h"
#include "os/bounded_file.h"
#include "os/files.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kFileInFolder = "job.yaml";

/// False: errno says why.
bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

bool looks_like_job_file(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
}

/// Reads one byte more than the job reader takes, so that it reports a file that is too long.
Result<std::string> read_job_file(const std::string& path) {
  return read_bounded_file(path, "job file", jobfile::kMaxTextBytes + 1);
}

/// The command line that runs `program` instead of reading it.
std::string as_command(const JobOptions& options, const std::string& program) {
  JobOptions meant = options;
  meant.file.clear();
  const std::vector<std::string> words = words_to_start(program);
  meant.arguments.insert(meant.arguments.begin(), words.begin(), words.end());
  return "dlaunch run " + jobfile::shell_line(words_of(meant));
}

/// Whether the file is a program, as in `dlaunch run train.py`, a habit from torchrun and mpirun.
bool is_program(const std::string& path, const std::string& text) {
  return !looks_like_job_file(path) && jobfile::kind_of_script(text).empty() &&
         (path.ends_with(".py") || path.ends_with(".sh") || text.starts_with("#!") ||
          text.starts_with("\x7f"
                           "ELF"));
}

/// "the folder x contains no job.yaml", with the file that could have been meant.
std::string nothing_in_folder(const std::string& folder) {
  std::string message = "the folder " + folder + " contains no " + kFileInFolder;
  std::vector<std::string> others;
  std::error_code ignored;  // after an error, there is nothing to suggest
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".yaml") || path.ends_with(".yml")) others.push_back(path);
  }
  if (others.size() == 1)
    message += "; there is " + others[0] + ": dlaunch run " + jobfile::shell_quote(others[0]);
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

/// The options that have no key in a job file.
std::string options_without_key(const JobOptions& options) {
  std::string text;
  if (options.include) text += " --include " + jobfile::shell_quote(*options.include);
  if (options.exclude) text += " --exclude " + jobfile::shell_quote(*options.exclude);
  return text + (options.no_container ? " --no-container" : "");
}

std::string folder_name(const std::string& file, const std::string& current_folder) {
  namespace fs = std::filesystem;
  const std::string name =
      (fs::path(current_folder) / file).lexically_normal().parent_path().filename().string();
  return name.empty() ? "job" : name;
}

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

Result<DialectOptions> dialect_options(const JobOptions& options, const std::string& file,
                                       const std::string& current_folder) {
  auto inputs = named_values("--input", options.inputs);
  if (!inputs) return tl::unexpected(inputs.error());
  auto outputs = named_values("--output", options.outputs);
  if (!outputs) return tl::unexpected(outputs.error());
  DialectOptions foreign;
  foreign.inputs = std::move(*inputs);
  foreign.outputs = std::move(*outputs);
  foreign.step = options.step;
  if (!options.module.empty())
    foreign.module = {"module", options.module, "--module " + options.module};
  if (!options.package.empty() && !is_folder(options.package))
    return fail(exit_code::kUsage, "--package-path " + options.package +
                                       ": no such folder; expected the folder that contains the "
                                       "module's package, such as ./trainer");
  if (!options.package.empty())
    foreign.package = {"package", options.package, "--package-path " + options.package};
  foreign.no_container = options.no_container;
  foreign.current_folder = current_folder;
  foreign.folder = (std::filesystem::path(current_folder) / file).parent_path().string();
  foreign.read_file = read_job_file;
  return foreign;
}

/// The input of the reader, with the text of the file; `file` stays empty for a command after "--".
Result<JobInput> find_job(const JobOptions& options, const std::string& current_folder,
                          const std::vector<std::string>& ignored) {
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
    input.ignored = ignored;
    // Hosts on the command line replace those of the file.
    if (options.hosts || options.hostfile)
      input.ignored.insert(input.ignored.end(), {"hosts", "hostfile"});
    // A number per node replaces the file's total, as -n replaces its number per node.
    const bool has_per_node = !options.per_node.empty() && options.per_node != "auto";
    if (has_per_node || !options.gpus.empty()) input.ignored.emplace_back("processes");
    input.default_name = folder_name(*file, current_folder);
  }
  auto foreign = dialect_options(options, input.file, current_folder);
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
  if (options.no_container) {
    job.spec.container.reset();
    for (RoleSpec& role : job.spec.roles) role.container.reset();
  }
  // --gpus N is an error on a node with fewer GPUs.
  if (!options.gpus.empty()) job.spec.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
  job.record.native = std::move(reading->native);
  job.record.typed = "dlaunch run";
  if (const auto words = words_of(options); !words.empty())
    job.record.typed += ' ' + jobfile::shell_line(words);
  job.record.again = options_without_key(options);
  job.record.version = DLAUNCH_VERSION;
  if (!input->text) return job;
  job.ignored = std::move(reading->left_out);
  std::erase_if(job.ignored, [&](const std::string& key) { return !contains(ignored, key); });
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

Status resolve_job_hosts(const JobOptions& options, bool quiet, LoadedJob& job,
                         Allocation allocation) {
  // A hostfile in a job file is relative to that file; a hostfile in an option, to the current
  // folder.
  std::string& hostfile = job.spec.hosts.hostfile;
  if (!hostfile.empty() && !options.hostfile && !is_set(options, "hostfile"))
    hostfile = (std::filesystem::path(job.file).parent_path() / hostfile).string();
  auto resolved = resolve_job_hosts(
      job.spec,
      {options.include.value_or(""), options.exclude.value_or(""), allocation == Allocation::used});
  if (!resolved) return tl::unexpected(resolved.error());
  job.slurm_end = resolved->slurm_end;
  job.notes.insert(job.notes.end(), resolved->notes.begin(), resolved->notes.end());
  for (const std::string& note : job.notes) {
    if (!quiet) std::fprintf(stderr, "dlaunch: note: %s\n", note.c_str());
  }
  return {};
}

RunOptions run_options(LoadedJob job, const std::string& folder) {
  RunOptions options;
  options.spec = std::move(job.spec);
  options.record = std::move(job.record);
  options.job_file = std::move(job.file);
  options.current_folder = folder;
  options.environment = environment_from_block(environ);
  options.slurm_end = job.slurm_end;
  options.may_ask = can_ask_on_terminal();
  return options;
}

}  // namespace dlaunch
