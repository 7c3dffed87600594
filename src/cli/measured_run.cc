#include "cli/measured_run.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <unistd.h>

#include "cli/hosts.h"
#include "cli/print.h"
#include "launch/front/terminal_prompt.h"
#include "os/unique_fd.h"

extern char** environ;

namespace dlaunch {

namespace {

Result<std::string> make_folder() {
  const char* base = std::getenv("TMPDIR");
  std::string path =
      std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/dlaunch-measure-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return fail_errno(exit_code::kInternal, "a folder for this run: " + path, errno);
  return path;
}

/// Removed at its end unless it is kept.
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() {
    std::error_code ignored;  // a file that somebody else has put there
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  std::string keep() { return std::exchange(path_, {}); }

 private:
  std::string path_;
};

/// Whether a run below `folder` came as far as to ranks, which may have left something to read.
bool had_ranks(const std::string& folder) {
  std::error_code error;
  for (const auto& run : std::filesystem::directory_iterator(folder, error)) {
    if (std::filesystem::exists(run.path() / "plan.json", error)) return true;
  }
  return false;
}

/// The summary of the one run below `folder`.
std::optional<RunEnding> ending_of(const std::string& folder) {
  std::error_code failed;
  for (const auto& run : std::filesystem::directory_iterator(folder, failed)) {
    std::ifstream file(run.path() / "summary.json");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (auto ending = parse_summary(text)) return *std::move(ending);
  }
  return std::nullopt;
}

/// Nobody looks for the files of a run that ended so: well, by a mistake that its message tells in
/// full, or because somebody has stopped it.
bool is_told_in_full(int code, const std::string& folder) {
  switch (code) {
    case exit_code::kOk:
    case exit_code::kSignalBase + SIGINT:
    case exit_code::kSignalBase + SIGTERM:
      return true;
    case exit_code::kUsage:
    case exit_code::kJobFile:
    case exit_code::kPreflight:
      return !had_ranks(folder);
    default:
      return false;
  }
}

}  // namespace

std::string failure_text(const ReadRun& run) {
  return run.ending ? ending_text(*run.ending) : "exit code " + std::to_string(run.exit_code);
}

Result<ReadRun> read_run(RunOptions options, KeepRun keep, const OnLine& on_line) {
  auto made = make_folder();
  if (!made) return tl::unexpected(made.error());
  RunFolder folder(std::move(*made));
  options.spec.logs.dir = folder.path();
  options.folder_goes = keep == KeepRun::never;
  ensure_standard_descriptors();
  const auto run = run_in_child(options, on_line);
  if (!run && keep == KeepRun::never) return tl::unexpected(run.error());
  if (!run)
    return fail(run.error().exit_code, run.error().message + "\n  the run: " + folder.keep());
  ReadRun read{run->exit_code, {}, ending_of(folder.path())};
  const bool has_failed = !is_told_in_full(run->exit_code, folder.path());
  if (keep == KeepRun::always || (keep == KeepRun::failed && has_failed))
    read.run_folder = folder.keep();
  return read;
}

Result<ReadRun> measured_run(MeasuredJob job,
                             const std::function<Status(const measure::Record&)>& on_record) {
  const auto current = current_folder();
  if (!current) return tl::unexpected(current.error());
  job.hosts.arguments = {"dlaunch-collectives"};  // `prepare` has the whole of it
  auto loaded = load_job(job.hosts, *current);
  if (!loaded) return tl::unexpected(loaded.error());
  if (const Status hosts = resolve_job_hosts(job.hosts, false, *loaded); !hosts)
    return tl::unexpected(hosts.error());
  RunOptions options;
  options.spec = std::move(loaded->spec);
  options.spec.name = job.name;
  options.spec.framework = Framework::mpi;
  options.spec.active_env = ActiveEnv::optional;  // the ranks run dlaunch's own program
  options.spec.mpi.oversubscribe = true;
  options.spec.workdir = "/";
  options.spec.logs.console = Logs::Console::rank0;
  options.spec.logs.prefix = Logs::Prefix::never;
  options.record = std::move(loaded->record);
  options.current_folder = *current;
  options.environment = environment_from_block(environ);
  options.slurm_end = loaded->slurm_end;
  options.quiet = true;
  options.verbosity = job.verbosity;
  options.may_ask = can_ask_on_terminal();
  options.prepare = std::move(job.prepare);
  return read_run(std::move(options), job.keep, [&](const std::string& line) -> Status {
    const auto record = measure::read_record(line);
    if (!record) return tl::unexpected(record.error());
    return on_record(*record);
  });
}

}  // namespace dlaunch
