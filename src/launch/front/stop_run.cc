#include "launch/front/stop_run.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/front/front_link.h"
#include "launch/questions/question_socket.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/job_tree.h"
#include "os/stuck.h"
#include "runs/run_index.h"
#include "text/duration_text.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

/// Time beyond timeouts.stop for killing, reading the last output, and a console that does not
/// read.
constexpr std::chrono::seconds kMargin{30};
/// If a launcher has not killed its ranks this long after it should have, it cannot kill them, and
/// we do.
constexpr std::chrono::seconds kKillAfter{5};
/// A launcher that is not stuck may be removing containers, for which it has 20 s.
constexpr std::chrono::seconds kKillAfterAll{25};
constexpr std::chrono::seconds kKillLimit{3};
/// A launcher that works answers at once.
constexpr std::chrono::seconds kAnswerLimit{2};

bool belongs_to(const std::string& path, std::uint32_t user) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_uid == user;
}

/// A run folder may name any process: the owner of run.json must also own that process, and a live
/// engine holds the lock of its run.
bool is_engine_of(const RunView& run) {
  const RunRecord& record = *run.witness.record;
  return run.witness.alive_lock != LockSeen::free &&
         belongs_to(run.path + "/run.json", record.user) &&
         belongs_to("/proc/" + std::to_string(record.engine.pid), record.user);
}

/// A pidfd of the run's engine, or why there is none.
Result<UniqueFd> engine_of(const RunView& run) {
  const std::string who = "run " + run.id;
  if (!is_live(run.state) && run.state != RunState::unknown)
    return fail(exit_code::kUsage, who + " has already ended: " + state_text(run));
  const RunRecord& record = *run.witness.record;
  if (!is_here(run.witness)) {
    const std::string host = plain_line(record.host);
    const std::string folder = run.path.starts_with('/') ? "" : record.folder + '/';
    return fail(exit_code::kNodeLost, who + " is on " + host +
                                          ", not on this machine; run there: dlaunch stop " +
                                          word_for_run(folder + run.path));
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

/// The run's end, if it was live when it was read and has ended meanwhile.
std::optional<RunView> ended_meanwhile(const RunView& run) {
  if (!is_live(run.state)) return std::nullopt;
  auto seen = read_run(run.path);
  const bool has_ended = seen && !is_live(seen->state) && seen->state != RunState::unknown;
  return has_ended ? std::optional<RunView>(std::move(*seen)) : std::nullopt;
}

/// How the run ended, for the user who stopped it.
std::string ending_for(const RunView& run, bool killed) {
  if (!killed || run.state != RunState::stopped || !run.witness.ending) return state_text(run);
  return "killed by dlaunch stop --now after " + duration_text(run.witness.ending->elapsed);
}

bool continues(const RunView& run) {
  const auto seen = read_run_state(run.path);
  return seen && seen->state == RunState::running;
}

/// Kills the ranks directly if the launcher should have done it and has not, because it waits for a
/// file system that does not answer.
class DirectKill {
 public:
  explicit DirectKill(const RunRecord& record) : record_(record) {}

  /// Call once a second. False: nothing more can be done, and text() says what is left.
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
    return (killed_ > 0 ? "dlaunch stop killed its processes; " : "its launcher did not end; ") +
           remains_ + "; the run ends when this wait is over";
  }

 private:
  /// The front waits for the engine, and gives up on it after two signals.
  void tell_front() {
    if (std::exchange(told_, true)) return;
    const UniqueFd front = open_process(record_.front);
    if (!front || record_.detached) return;
    (void)signal_process(front.get(), SIGTERM);
    const timespec between{1, 0};  // so that the front reads the first before the second arrives
    ::nanosleep(&between, nullptr);
    (void)signal_process(front.get(), SIGTERM);
  }

  static constexpr int kGiveUpAfter = 4;  // calls in a row that find it stuck
  const RunRecord record_;
  std::size_t killed_ = 0;
  int stuck_for_ = 0;
  bool told_ = false;
  std::string remains_;
};

/// How long the ranks have, from now.
using Grace = std::chrono::nanoseconds;

Result<Grace> send(const RunView& run, int engine, const StopOrder& order) {
  (void)signal_process(engine, SIGCONT);  // a stopped one would not hear us
  auto socket = connect_to_run(run, kQuestionSocket, SOCK_STREAM);
  const auto reply = socket ? ask_run<StopReply>({run.id, run.path, std::move(*socket)},
                                                 StopQuestion{own_build_id(), order.now, order.checkpoint},
                                                 kAnswerLimit)
                            : Result<StopReply>(tl::unexpected(socket.error()));
  if (reply) return order.now ? Duration(0) : Duration(static_cast<std::int64_t>(reply->limit_ms));
  if (order.checkpoint) return tl::unexpected(reply.error());
  const int error = signal_process(engine, order.now ? kStopAtOnce : SIGTERM);
  if (error == 0 || error == ESRCH)
    return order.now ? Duration(0) : run.witness.record->stop_grace;
  if (error == EPERM) {
    return fail(kNoPermission, "run " + run.id + " belongs to user " +
                                   std::to_string(run.witness.record->user) +
                                   "; only that user can stop it");
  }
  return fail(exit_code::kInternal, "cannot signal run " + run.id + ": " + errno_text(error));
}

void tell_checkpoint(const RunView& run) {
  const auto& ending = run.witness.ending;
  if (!ending || ending->checkpoint.empty()) return;
  std::fprintf(stderr, "dlaunch: %s%s\n", ending->checkpoint_age ? "" : "warning: ",
               plain_line(ending->checkpoint).c_str());
}

/// The order was to wait for a checkpoint written after `asked`: checks that there is one.
Status check_saved(const RunView& run, WallTime asked) {
  const auto& record = run.witness.record;
  const auto& ending = run.witness.ending;
  if (!record || !ending) return {};
  // How much later the end may be than the nodes' last look, or the start than its record.
  constexpr std::chrono::seconds kInexact{1};
  const WallTime end = record->started + ending->elapsed;
  if (ending->checkpoint_age && end - *ending->checkpoint_age >= asked - kInexact) return {};
  return fail(exit_code::kTimeLimit, "run " + run.id + " ended without a new checkpoint");
}

/// Shows progress and waits until the run has ended. Without `told` the run is ending already; if
/// only an attempt ends and another one follows, stops the run then. `asked`: when the user asked.
Status wait_for(const RunView& run, int engine, std::optional<Grace> told, const StopOrder& order,
                WallTime asked) {
  const bool now = order.now;
  Grace grace = told ? *told : run.witness.record->stop_grace;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  DirectKill helper(*run.witness.record);
  MonotonicTime begin = monotonic_now();
  if (told)
    std::fprintf(stderr, "dlaunch: stopping run %s%s", run.id.c_str(), terminal ? "" : "\n");
  bool ended = false;
  for (MonotonicTime waited{0}; !ended && waited < grace + kMargin; waited = monotonic_now() - begin) {
    if (!told && continues(run)) {
      const auto sent = send(run, engine, order);
      if (!sent) return tl::unexpected(sent.error());
      told = grace = *sent;
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
    return fail(exit_code::kTimeLimit, "run " + run.id + ": " + helper.text());
  if (!ended) {
    return fail(exit_code::kTimeLimit,
                "run " + run.id + " did not end within " + duration_text(grace + kMargin) +
                    (now ? "" : "\n         try: dlaunch stop --now " + word_for_run(run.path)));
  }
  const auto seen = read_run(run.path);
  if (!seen) return tl::unexpected(seen.error());
  std::fprintf(stderr, "dlaunch: run %s %s\n", run.id.c_str(), ending_for(*seen, now).c_str());
  tell_checkpoint(*seen);
  return order.checkpoint ? check_saved(*seen, asked) : Status();
}

}  // namespace

Status stop_run(const RunView& run, const StopOrder& order) {
  const WallTime asked = file_time_now();
  const auto engine = engine_of(run);
  if (const auto end = engine ? std::nullopt : ended_meanwhile(run)) {
    std::fprintf(stderr, "dlaunch: run %s %s\n", end->id.c_str(), state_text(*end).c_str());
    return {};
  }
  if (!engine) return tl::unexpected(engine.error());
  const bool is_stopping = run.state == RunState::stopping && !order.now;
  if (is_stopping) {
    std::fprintf(stderr,
                 "dlaunch: run %s is already stopping; dlaunch stop --now %s kills it at once\n",
                 run.id.c_str(), word_for_run(run.path).c_str());
    return wait_for(run, engine->get(), std::nullopt, order, asked);
  }
  const auto sent = send(run, engine->get(), order);
  if (!sent) return tl::unexpected(sent.error());
  return wait_for(run, engine->get(), *sent, order, asked);
}

}  // namespace dlaunch
