#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/start_run.h"
#include "jobfile/shell_quote.h"
#include "model/environment.h"
#include "node/sync/git_folder.h"
#include "os/bounded_file.h"
#include "os/own_machine.h"
#include "runs/run_index.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostJobRecord = std::size_t{8} << 20;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch rerun                            the newest run again\n"
    "  dlaunch rerun k3f --set timeouts.run=2h  with another limit\n"
    "  dlaunch rerun k3f -- --lr 0.1            with further arguments\n"
    "\n"
    "The job comes from job.yaml in the run folder, with everything that was set on\n"
    "the command line then, and starts in the same folder. A note names what has\n"
    "changed since that run: the machine, dlaunch, the Python environment, the commit\n"
    "of the workdir, variables of env_pass that are not set. The program itself is the\n"
    "current one.";

/// "dlaunch 0.1.0, now 0.2.0"
void add_difference(std::vector<std::string>& list, const char* what, const std::string& then,
                    const std::string& now) {
  if (then == now) return;
  const auto shown = [](const std::string& value) {
    return value.empty() ? "none" : plain_line(value);
  };
  list.push_back(std::string(what) + ' ' + shown(then) + ", now " + shown(now));
}

struct RerunCommand {
  RunRequest request;
  std::string word;

  int execute() {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    const auto folders = run_folders("");
    if (!folders) return print_error(folders.error());
    auto run = find_run(*folders, word);
    if (!run) return print_error(run.error());
    named_ = word_for_run(run->path);
    // The current folder will change.
    run->path = (std::filesystem::path(*folder) / run->path).string();
    if (const Status ready = take_over(*run); !ready) return print_error(ready.error());
    return start_run(request);
  }

 private:
  /// Turns the request into the request of that run, in the folder where the run was started.
  Status take_over(const RunView& run) {
    const std::string job_file = run.path + "/job.yaml";
    // In a shared folder the newest run may be someone else's.
    struct stat info {};
    if (::stat(run.path.c_str(), &info) != 0 || info.st_uid != ::geteuid())
      return fail(exit_code::kUsage, "run " + run.id + " belongs to user " +
                                         std::to_string(info.st_uid) +
                                         "; to run its job as yourself: dlaunch run " +
                                         jobfile::shell_quote(job_file));
    if (is_live(run.state))
      return fail(exit_code::kUsage, "run " + run.id + " has not ended; to end it: dlaunch stop " +
                                         named_ + "\n         try: dlaunch run " +
                                         jobfile::shell_quote(job_file) +
                                         ", to start a second one");
    if (::access(job_file.c_str(), F_OK) != 0 && errno == ENOENT)
      return fail(exit_code::kUsage, "run " + run.id +
                                         " has no job.yaml: it ended before its plan was made; "
                                         "type its command again");
    auto text = read_bounded_file(job_file, "job file", kMostJobRecord);
    if (!text) return tl::unexpected(text.error());
    const RecordedOrigin then = parse_job_record(*text);
    if (!then.has_job)
      return fail(exit_code::kUsage, plain_line(job_file) +
                                         " contains no job (the command is not UTF-8); type the "
                                         "command again");
    const std::string started_in = run.witness.record ? run.witness.record->folder : "";
    if (!started_in.empty() && ::chdir(started_in.c_str()) != 0)
      return fail_errno(exit_code::kUsage,
                        "run " + run.id + " was started in " + plain_line(started_in) +
                            ", which cannot be entered",
                        errno);
    const std::string typed = "dlaunch rerun " + run.id + more();
    take_options(then.again);
    request.job.file = job_file;
    request.adapt = [this, then, typed, id = run.id, path = run.path](LoadedJob& job) {
      job.record.typed = typed;
      job.record.note = "the job of run " + id;
      job.record.given.clear();  // the native job has all of it
      if (!request.quiet) tell(differences(then, path, job.spec));
    };
    return {};
  }

  /// Takes options without a key in a job file; host options of this command line replace them.
  void take_options(const std::vector<std::string>& again) {
    JobOptions& job = request.job;
    const bool has_hosts = job.hosts || job.hostfile || job.include || job.exclude;
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (again[i] == "--no-container") job.no_container = true;
      if (again[i] == "--smoke") request.smoke = true;
      if (has_hosts || i + 1 == again.size()) continue;
      if (again[i] == "--include") job.include = again[i + 1];
      if (again[i] == "--exclude") job.exclude = again[i + 1];
    }
  }

  /// What this command line adds, as text.
  [[nodiscard]] std::string more() const {
    JobOptions given = request.job;
    given.file.clear();
    const auto words = words_of(given);
    return words.empty() ? "" : ' ' + jobfile::shell_line(words);
  }

  static std::vector<std::string> differences(const RecordedOrigin& then, const std::string& path,
                                              const JobSpec& spec) {
    const Environment environment = environment_from_block(environ);
    std::vector<std::string> list;
    add_difference(list, "machine", then.host, own_hostname());
    add_difference(list, "dlaunch", then.version, DLAUNCH_VERSION);
    add_difference(list, "Python environment", then.python_environment,
                   python_environment(environment));
    std::error_code unknown;
    const auto workdir = std::filesystem::canonical(spec.workdir, unknown);
    if (!unknown)
      add_difference(list, "git commit", then.commit.substr(0, kShownCommit),
                     read_git(workdir.string()).commit.substr(0, kShownCommit));
    for (const std::string key : {"passed", "secret"}) {
      for (const std::string& name : variables_of(path, key)) {
        if (!find_variable(environment, name))
          list.push_back(name + (key == "secret" ? " (env_secret)" : " (env_pass)") +
                         " is not set now");
      }
    }
    return list;
  }

  static void tell(const std::vector<std::string>& list) {
    if (list.empty()) return;
    std::fprintf(stderr, "dlaunch: note: changed since that run: %s\n", joined(list, "; ").c_str());
  }

  static constexpr std::size_t kShownCommit = 12;
  std::string named_;  // how to name the run to another command
};

}  // namespace

Subcommand rerun_command(const TrailingArguments& arguments) {
  auto rerun = std::make_shared<RerunCommand>();
  rerun->request.job.arguments = arguments;
  const auto describe = [rerun](CommandOptions options) {
    options.positional("RUN", rerun->word,
                       "Unique beginning or end of an id, or a folder\n"
                       "(default: the newest run)");
    add_host_options(options, rerun->request.job);
    add_run_options(options, rerun->request);
  };
  return {"rerun",  "Start the job of an earlier run again", kFooter,
          describe, [rerun] { return rerun->execute(); },    true};
}

}  // namespace dlaunch
