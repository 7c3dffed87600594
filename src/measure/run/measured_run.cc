#include "measure/run/measured_run.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <unistd.h>

#include "launch/front/terminal_prompt.h"
#include "measure/run/child_run.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

Result<std::string> make_folder() {
  const char* base = std::getenv("TMPDIR");
  std::string path =
      std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/dlaunch-measure-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return fail_errno(exit_code::kInternal, "cannot create the run folder " + path, errno);
  return path;
}

/// A folder that is removed at the end of this object's lifetime unless it is kept.
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() {
    std::error_code ignored;  // another process may have put a file there
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  std::string keep() { return std::exchange(path_, {}); }

 private:
  std::string path_;
};

/// Whether the run below `folder` got as far as starting ranks, which may have left output.
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

bool needs_logs(int code, const std::string& folder) {
  switch (code) {
    case exit_code::kOk:
    case exit_code::kSignalBase + SIGINT:
    case exit_code::kSignalBase + SIGTERM:
      return false;
    case exit_code::kUsage:
    case exit_code::kJobFile:
    case exit_code::kPreflight:
      return had_ranks(folder);
    default:
      return true;
  }
}

void set_up(const std::string& folder, KeepRun keep, RunOptions& options) {
  JobSpec& spec = options.spec;
  spec.framework = Framework::mpi;
  spec.active_env = ActiveEnv::optional;  // the ranks run dlaunch's own program
  spec.mpi.oversubscribe = true;
  spec.workdir = "/";
  spec.logs.console = Logs::Console::rank0;
  spec.logs.prefix = Logs::Prefix::never;
  spec.logs.dir = folder;
  spec.watch.after.reset();  // its ranks wait for each other in turn, and end by themselves
  options.folder_goes = keep == KeepRun::never;
  options.environment = environment_from_block(environ);
  options.quiet = true;
  options.may_ask = can_ask_on_terminal();
}

}  // namespace

std::vector<std::string> collectives_words(MeasureBackend backend, const std::string& mode,
                                           const measure::Settings& settings) {
  // The agent starts the rank by this path: proc_pid_exe(5).
  std::vector<std::string> words{"/proc/self/exe", "collectives", "--backend",
                                 backend == MeasureBackend::mpi ? "mpi" : "nccl", mode};
  for (std::string& word : settings.words()) words.push_back(std::move(word));
  return words;
}

std::string failure_text(const MeasuredRun& run) {
  return run.ending ? ending_text(*run.ending) : "exit code " + std::to_string(run.exit_code);
}

Result<MeasuredRun> measured_run(RunOptions options, KeepRun keep,
                                 const std::function<Status(const measure::Record&)>& on_record) {
  auto made = make_folder();
  if (!made) return tl::unexpected(made.error());
  RunFolder folder(std::move(*made));
  set_up(folder.path(), keep, options);
  ensure_standard_descriptors();
  const auto run = run_in_child(options, [&](const std::string& line) -> Status {
    const auto record = measure::read_record(line);
    return record ? on_record(*record) : Status(tl::unexpected(record.error()));
  });
  if (!run && keep == KeepRun::never) return tl::unexpected(run.error());
  if (!run)
    return fail(run.error().exit_code, run.error().message + "\n  the run: " + folder.keep());
  MeasuredRun result{run->exit_code, {}, ending_of(folder.path())};
  const bool has_logs = needs_logs(run->exit_code, folder.path());
  if (keep == KeepRun::always || (keep == KeepRun::failed && has_logs))
    result.run_folder = folder.keep();
  return result;
}

}  // namespace dlaunch
