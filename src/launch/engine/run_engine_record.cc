// What a run folder has beside results: job.yaml, with what has to be known to run the job again,
// and the times of output from other nodes.
#include <filesystem>

#include <fcntl.h>
#include <sys/utsname.h>

#include "launch/engine/run_engine.h"
#include "launch/sync/git_commit.h"
#include "os/clock.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

// Delay before git starts: it slows down neither a short run nor the start of a run.
constexpr std::chrono::milliseconds kBeforeGit{500};
constexpr std::chrono::seconds kGitLimit{20};
// Delay between noting times and writing them, so that one write has many.
constexpr std::chrono::seconds kTimesWait{1};

std::string kernel_name() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown system";
  return std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
}

std::string python_environment(const Environment& environment) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto found = find_variable(environment, name); found && !found->empty())
      return *found;
  }
  return "";
}

/// The path without links, as the launcher sees it; "/" if it cannot be resolved.
std::string workdir_of(const RunOptions& options) {
  const std::filesystem::path path =
      std::filesystem::path(options.current_folder) / options.spec.workdir;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? "/" : real.string();
}

std::vector<std::string> entries_of(const Environment& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + '=' + value);
  return entries;
}

}  // namespace

void RunEngine::write_job_record() {
  if (!origin_) {
    origin_ = {folder_->id(),
               wall_now() - (monotonic_now() - began_),
               host_name(),
               kernel_name(),
               python_environment(options_.environment),
               options_.current_folder,
               shown_path_,
               read_git(workdir_of(options_))};
    if (!origin_->git.commit.empty()) ask_git_.after(kBeforeGit, [this] { ask_git(); });
  }
  if (const Status written = folder_->write("job.yaml", job_record_text(options_.record, *origin_));
      !written)
    say("dlaunch: note: " + written.error().message);
}

/// Which files differ from the commit. git(1) may take long on a slow file system; it runs beside
/// everything else, changes nothing and is killed with us.
void RunEngine::ask_git() {
  git_ = std::make_unique<RunningCommand>(
      loop_,
      std::vector<std::string>{"git", "--no-optional-locks", "-C", workdir_of(options_), "-c",
                               "core.fsmonitor=false", "status", "--porcelain",
                               "--untracked-files=no", "--ignore-submodules=all"},
      entries_of(options_.environment), "", kGitLimit, [this](const Result<CommandOutput>& output) {
        if (!output || output->wait_status != 0) return;
        origin_->git.changes = output->out;
        write_job_record();
      });
}

/// Records when output of a rank on another node came here; agents record the local ones.
void RunEngine::note_time(const wire::OutputView& data) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch();
  times_.add({2 * std::uint64_t{data.rank.value} + (data.stream == Stream::err ? 1 : 0),
              data.offset + data.bytes.size(), now.count()});
  if (!std::exchange(times_wait_, true)) write_times_.after(kTimesWait, [this] { write_times(); });
}

void RunEngine::write_times() {
  times_wait_ = false;
  write_times_.cancel();
  const std::string bytes = times_.take();
  if (bytes.empty()) return;
  const UniqueFd file(::open((attempt_folder_ + "/remote.times").c_str(),
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file) (void)write_all(file.get(), bytes);
}

}  // namespace dlaunch
