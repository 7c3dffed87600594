#include "launch/engine/run_store.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "node/sync/git_folder.h"
#include "os/clock.h"
#include "os/write_all.h"
#include "report/plan_json.h"

namespace dlaunch {

namespace {

// Delay before git starts, so that it slows down neither a short run nor the start of a run.
constexpr std::chrono::milliseconds kBeforeGit{500};
constexpr std::chrono::seconds kGitLimit{20};
// Delay between noting times and writing them, so that one write contains many.
constexpr std::chrono::seconds kTimesWait{1};

std::string kernel_name() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown system";
  return std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
}

/// The path without links, as the launcher sees it; "/" if it cannot be resolved.
std::string workdir_of(const RunOptions& options) {
  const std::filesystem::path path =
      std::filesystem::path(options.current_folder) / options.spec.workdir;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? "/" : real.string();
}

}  // namespace

RunStore::RunStore(EventLoop& loop, const RunOptions& options, Say say)
    : options_(options),
      loop_(loop),
      say_(std::move(say)),
      began_(monotonic_now()),
      write_times_(loop),
      ask_git_(loop) {}

Status RunStore::open() {
  const std::string& dir = options_.spec.logs.dir;
  const std::string base = dir.starts_with('/') ? dir : options_.current_folder + '/' + dir;
  auto folder = RunDirectory::create(base, default_state_folder(options_.environment), wall_now);
  if (!folder) {
    return fail(folder.error().exit_code, "no folder for this run: " + folder.error().message +
                                              "\n         try: --set logs.dir=FOLDER");
  }
  folder_ = std::move(*folder);
  const std::string inside = options_.current_folder + '/';
  shown_path_ = folder_->path();
  if (shown_path_.starts_with(inside)) shown_path_.erase(0, inside.size());
  announce();
  if (const Status made = begin_attempt(Attempt(0)); !made) return made;  // while the agent starts
  if (folder_->fell_back())
    say_("dlaunch: note: cannot write to " + base + "; logs are in " + folder_->path());
  auto events = EventLog::open(folder_->path() + "/events.jsonl");
  if (!events) return tl::unexpected(events.error());
  events_ = std::move(*events);
  if (!options_.preflight_table.empty()) write("preflight.txt", options_.preflight_table);
  return {};
}

void RunStore::announce() {
  RunRecord record;
  record.run = folder_->id();
  record.name = options_.spec.name;
  record.job_file = options_.job_file;
  record.folder = options_.current_folder;
  record.host = own_hostname();
  record.boot_id = boot_id();
  record.engine = identity_of(::getpid());
  record.front = identity_of(::getppid());
  record.user = ::getuid();
  record.started = wall_now();
  record.stop_grace = options_.spec.timeouts.stop;
  record.slurm_job = find_variable(options_.environment, "SLURM_JOB_ID").value_or("");
  record.detached = options_.detach;
  auto presence = RunPresence::announce(*folder_, std::move(record));
  if (presence) {
    presence_ = std::move(*presence);
  } else {
    say_("dlaunch: note: " + presence.error().message +
         "; dlaunch runs, logs and stop will not find this run");
  }
}

Status RunStore::begin_attempt(Attempt attempt) {
  auto made = folder_->make_attempt_folder(attempt);
  if (!made) return tl::unexpected(made.error());
  attempt_folder_ = std::move(*made);
  times_ = {};
  return {};
}

void RunStore::note(std::string_view kind, std::string_view text,
                    const std::function<void(JsonText&)>& more) {
  if (events_) events_->note(kind, text, wall_now(), more);
}

std::optional<MonotonicTime> RunStore::write_due() {
  if (!events_ || !events_->due()) return std::nullopt;
  const MonotonicTime left = *events_->due() - wall_now();
  // If more time is left, the wall clock was set back meanwhile.
  if (left > MonotonicTime(0) && left <= EventLog::kMostWait) return monotonic_now() + left;
  (void)events_->flush();
  return std::nullopt;
}

void RunStore::set_stopping(bool stopping) {
  if (presence_) presence_->set_stopping(stopping);
}

void RunStore::write_plan(const LaunchPlan& plan) {
  write_job_record();
  write("plan.json", plan_json(plan));
  folder_->reserve_room();
}

bool RunStore::write(std::string_view name, std::string_view text) {
  const Status written = folder_->write(name, text);
  if (!written) say_("dlaunch: note: " + written.error().message);
  return written.has_value();
}

void RunStore::write_job_record() {
  if (!origin_) {
    origin_ = {folder_->id(),
               wall_now() - (monotonic_now() - began_),
               own_hostname(),
               kernel_name(),
               python_environment(options_.environment),
               options_.current_folder,
               shown_path_,
               read_git(workdir_of(options_))};
    if (!origin_->git.commit.empty()) ask_git_.after(kBeforeGit, [this] { ask_git(); });
  }
  if (const Status written = folder_->write("job.yaml", job_record_text(options_.record, *origin_));
      !written)
    say_("dlaunch: note: " + written.error().message);
}

/// Asks which files differ from the commit. git(1) may take long on a slow file system; it runs in
/// parallel, changes nothing and is killed with us.
void RunStore::ask_git() {
  ProgramCall status{.argv = {"git", "--no-optional-locks", "-C", workdir_of(options_), "-c",
                              "core.fsmonitor=false", "status", "--porcelain",
                              "--untracked-files=no", "--ignore-submodules=all"},
                     .limit = kGitLimit,
                     .environment = options_.environment};
  git_ = std::make_unique<RunningProgram>(loop_, std::move(status),
                                          [this](const Result<ProgramOutput>& output) {
                                            if (!output || !output->succeeded()) return;
                                            origin_->git.changes = output->out;
                                            write_job_record();
                                          });
}

void RunStore::note_time(const wire::OutputData& data) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch();
  times_.add({2 * std::uint64_t{data.rank.value} + (data.stream == Stream::err ? 1 : 0),
              data.offset + data.bytes.size(), now.count()});
  if (!std::exchange(times_wait_, true)) write_times_.after(kTimesWait, [this] { write_times(); });
}

void RunStore::write_times() {
  times_wait_ = false;
  write_times_.cancel();
  const std::string bytes = times_.take();
  if (bytes.empty()) return;
  const UniqueFd file(::open((attempt_folder_ + "/remote.times").c_str(),
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file) (void)write_all(file.get(), bytes);
}

void RunStore::end_output() {
  write_times();
}

void RunStore::write_summary(const std::string& json) {
  if (const Status written = folder_->write_last("summary.json", json); !written)
    say_("dlaunch: note: " + written.error().message);
  if (options_.summary_copy >= 0) static_cast<void>(write_all(options_.summary_copy, json));
}

Status RunStore::flush() {
  return events_ ? events_->flush() : Status();
}

}  // namespace dlaunch
