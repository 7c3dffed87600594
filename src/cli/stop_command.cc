#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/run_places.h"
#include "launch/front/bounded_work.h"
#include "launch/front/front_link.h"
#include "os/clock.h"
#include "os/job_tree.h"
#include "os/stuck.h"
#include "report/plain_text.h"
#include "text/duration_text.h"

namespace dlaunch {

namespace {

/// Beyond timeouts.stop: killing, reading the last output, a console that does not read.
constexpr std::chrono::seconds kMargin{30};
/// This long after it should have killed its ranks, the launcher cannot; then we kill them.
constexpr std::chrono::seconds kKillAfter{5};
/// Where the launcher is not stuck it may be clearing containers up, for which it has 20 s.
constexpr std::chrono::seconds kKillAfterAll{25};
constexpr std::chrono::seconds kKillLimit{3};
/// Limit for reading a file.
constexpr std::chrono::seconds kFileLimit{10};

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch stop                            the only run that is running here\n"
    "  dlaunch stop 20261121-151200-k3f    unique beginning or end of an id: k3f\n"
    "  dlaunch stop --now                      no time for a checkpoint\n"
    "\n"
    "The ranks get the stop signal and timeouts.stop to end, as with Ctrl-C; then\n"
    "they are killed. Waits until the run has ended; a second stop only waits, too.\n"
    "Exit code: 0 it has ended; 64 no such run, or it has ended before; 69 it is on\n"
    "another machine; 77 it belongs to another user; 124 it has not ended in time.";

Result<RunView> only_live_run(const RunPlaces& places) {
  constexpr std::size_t kShown = 8;
  FoundRuns found = list_runs(places, kShown, RunsWanted::not_ended);
  if (found.runs.size() == 1) return std::move(found.runs.front());
  if (found.runs.empty() && found.unreadable) return tl::unexpected(*found.unreadable);
  if (found.runs.empty())
    return fail(exit_code::kUsage,
                "nothing is running in " + plain_line(places.base) + "; see: dlaunch runs");
  std::string message = std::to_string(found.runs.size()) + (found.more ? " or more" : "") +
                        " runs are running; which one?";
  for (const RunView& run : found.runs)
    message += "\n  dlaunch stop " + run.id + "   " + plain_line(run.name);
  return fail(exit_code::kUsage, message);
}

bool belongs_to(const std::string& path, std::uint32_t user) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_uid == user;
}

/// A run folder is somebody's file, which may name any process: whoever wrote it must own that
/// process, and an engine that lives holds its lock.
bool is_engine_of(const RunView& run) {
  const RunRecord& record = *run.witness.record;
  return run.witness.alive_lock != LockSeen::free &&
         belongs_to(run.path + "/run.json", record.user) &&
         belongs_to("/proc/" + std::to_string(record.engine.pid), record.user);
}

/// A pidfd of its engine, or why it cannot be reached.
Result<UniqueFd> reach(const RunView& run) {
  const std::string who = "run " + run.id;
  if (!is_live(run.state) && run.state != RunState::unknown)
    return fail(exit_code::kUsage, who + " has ended already: " + state_text(run));
  const RunRecord& record = *run.witness.record;
  if (!is_here(run.witness)) {
    const std::string host = plain_line(record.host);
    return fail(exit_code::kNodeLost, who + " is on " + host +
                                          ", not on this machine; there: " + "dlaunch stop " +
                                          plain_line(record.folder) + "/" + run.path);
  }
  UniqueFd engine = open_process(record.engine);
  if (engine && !is_engine_of(run))
    return fail(kNoPermission, plain_line(run.path) + "/run.json names pid " +
                                   std::to_string(record.engine.pid) +
                                   ", which is not the launcher of this run; nothing was stopped");
  if (engine) return engine;
  return fail(exit_code::kNodeLost, who + " runs in another container (PID namespace) of this " +
                                        "machine and must be stopped there");
}

/// The run was live when we looked, and is not any more: its engine has ended.
std::optional<RunView> ended_meanwhile(const RunView& run) {
  if (!is_live(run.state)) return std::nullopt;
  auto seen = read_run(run.path);
  const bool has_ended = seen && !is_live(seen->state) && seen->state != RunState::unknown;
  return has_ended ? std::optional<RunView>(std::move(*seen)) : std::nullopt;
}

/// How it ended, for the one who has asked for it.
std::string ending_for(const RunView& run, bool killed) {
  if (!killed || run.state != RunState::stopped || !run.witness.ending) return state_text(run);
  return "killed by dlaunch stop --now after " + duration_text(run.witness.ending->elapsed);
}

bool goes_on(const RunView& run) {
  const auto seen = read_run_state(run.path);
  return seen && seen->state == RunState::running;
}

/// What stop does itself when the launcher should have killed the ranks and has not: it may wait
/// for a file system that does not answer.
class DirectEnd {
 public:
  explicit DirectEnd(const RunRecord& record) : record_(record) {}

  /// Call once a second. False: nothing more can be done, and text() says what remains.
  bool help() {
    killed_ += kill_job_processes(record_.engine.pid, kKillLimit).size();
    const auto stuck = find_stuck(launcher_processes(record_.engine.pid));
    remains_ = describe(stuck);
    stuck_for_ = stuck.empty() ? 0 : stuck_for_ + 1;
    if (killed_ > 0 || stuck_for_ == kGiveUpAfter) tell_front();
    return !gave_up();
  }
  [[nodiscard]] bool launcher_is_stuck() const {
    return !find_stuck(launcher_processes(record_.engine.pid)).empty();
  }
  [[nodiscard]] bool gave_up() const { return stuck_for_ >= kGiveUpAfter; }
  [[nodiscard]] std::string text() const {
    return (killed_ > 0 ? "dlaunch stop killed its processes; " : "its launcher has not ended; ") +
           remains_ + "; the run ends when that answers";
  }

 private:
  /// The front waits for the engine, and gives up on it when it has been cancelled twice.
  void tell_front() {
    if (std::exchange(told_, true)) return;
    const UniqueFd front = open_process(record_.front);
    if (!front || record_.detached) return;
    (void)signal_process(front.get(), SIGTERM);
    const timespec between{1, 0};  // so that the front reads one before the other comes
    ::nanosleep(&between, nullptr);
    (void)signal_process(front.get(), SIGTERM);
  }

  static constexpr int kGiveUpAfter = 4;  // times in a row
  const RunRecord record_;
  std::size_t killed_ = 0;
  int stuck_for_ = 0;
  bool told_ = false;
  std::string remains_;
};

struct StopCommand {
  std::string word;
  bool now = false;

  /// The file system of the run's folder may not answer.
  int execute() const {
    const WatchedWork done = watch_work(kFileLimit, [this] { return stop(); });
    if (done.stuck.empty()) return done.code;
    return print_error({exit_code::kTimeLimit,
                        "dlaunch stop cannot read the run folder: " + done.stuck +
                            "\n         try: Ctrl-C twice where the run was started, or kill -9 of "
                            "its dlaunch there"});
  }

  int stop() const {
    if (word == "-9")  // as kill(1) has it; a number is no option to the parser
      return print_error({exit_code::kUsage, "to kill at once: dlaunch stop --now"});
    const auto places = run_places("");
    if (!places) return print_error(places.error());
    const auto run = word.empty() ? only_live_run(*places) : find_run(*places, word);
    if (!run) return print_error(run.error());
    const auto engine = reach(*run);
    if (const auto end = engine ? std::nullopt : ended_meanwhile(*run)) {
      std::fprintf(stderr, "dlaunch: run %s %s\n", end->id.c_str(), state_text(*end).c_str());
      return exit_code::kOk;
    }
    if (!engine) return print_error(engine.error());
    // A second signal would kill the ranks in the middle of their checkpoint.
    const bool is_stopping = run->state == RunState::stopping && !now;
    if (is_stopping) {
      std::fprintf(stderr,
                   "dlaunch: run %s is stopping already; dlaunch stop --now kills at once\n",
                   run->id.c_str());
    } else if (const Status sent = send(*run, engine->get()); !sent) {
      return print_error(sent.error());
    }
    return wait_for(*run, engine->get(), !is_stopping);
  }

  [[nodiscard]] Status send(const RunView& run, int engine) const {
    const int error = signal_process(engine, now ? kStopAtOnce : SIGTERM);
    (void)signal_process(engine, SIGCONT);  // a stopped one would not hear it
    if (error == 0 || error == ESRCH) return {};
    if (error == EPERM) {
      return fail(kNoPermission, "run " + run.id + " belongs to user " +
                                     std::to_string(run.witness.record->user) +
                                     "; only that user can stop it");
    }
    return fail(exit_code::kInternal, "cannot signal run " + run.id + ": " + errno_text(error));
  }

  /// `sent`: it has been told to end. Else it is ending for a reason of its own, and when that was
  /// an attempt that another one follows, it goes on and must be told.
  int wait_for(const RunView& run, int engine, bool sent) const {
    const std::chrono::nanoseconds grace = now ? Duration(0) : run.witness.record->stop_grace;
    const std::chrono::nanoseconds limit = grace + kMargin;
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    DirectEnd helper(*run.witness.record);
    MonotonicTime begin = monotonic_now();
    if (sent)
      std::fprintf(stderr, "dlaunch: stopping run %s%s", run.id.c_str(), terminal ? "" : "\n");
    bool ended = false;
    for (MonotonicTime waited{0}; !ended && waited < limit; waited = monotonic_now() - begin) {
      if (!sent && goes_on(run)) {
        if (const Status status = send(run, engine); !status) return print_error(status.error());
        sent = true;
        begin = monotonic_now();
      }
      if (terminal)
        std::fprintf(stderr, "\rdlaunch: stopping run %s  %lld s of %lld s ", run.id.c_str(),
                     static_cast<long long>(waited / std::chrono::seconds(1)),
                     static_cast<long long>(grace / std::chrono::seconds(1)));
      pollfd watched{engine, POLLIN, 0};
      ended = ::poll(&watched, 1, 1000) > 0;
      const bool is_late = !ended && waited >= grace + kKillAfter;
      const bool must_help =
          is_late && (waited >= grace + kKillAfterAll || helper.launcher_is_stuck());
      if (must_help && !helper.help()) break;
    }
    if (terminal) std::fprintf(stderr, "\r\x1b[K");
    if (!ended && helper.gave_up())
      return print_error({exit_code::kTimeLimit, "run " + run.id + ": " + helper.text()});
    if (!ended) {
      return print_error({exit_code::kTimeLimit,
                          "run " + run.id + " has not ended within " + duration_text(limit) +
                              (now ? "" : "\n         try: dlaunch stop --now " + run.id)});
    }
    const auto seen = read_run(run.path);
    if (!seen) return print_error(seen.error());
    std::fprintf(stderr, "dlaunch: run %s %s\n", run.id.c_str(), ending_for(*seen, now).c_str());
    return exit_code::kOk;
  }
};

}  // namespace

Subcommand stop_command() {
  auto stop = std::make_shared<StopCommand>();
  const auto describe = [stop](CommandOptions options) {
    options.positional("RUN", stop->word,
                       "Unique beginning or end of an id, or a folder\n"
                       "(default: the only run that is running)");
    options.flag("--now", stop->now, "Kill at once, as Ctrl-C twice");
  };
  return {"stop", "End a run: TERM, time for a checkpoint, KILL", kFooter, describe,
          [stop] { return stop->execute(); }};
}

}  // namespace dlaunch
