// What comes from outside while a run is under way: the front, signals, `dlaunch stop`.
#include <csignal>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/engine/run_engine.h"
#include "launch/front/front_link.h"
#include "model/signal_names.h"
#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {

namespace {

/// Signals without a meaning of ours: schedulers send them when they were asked to (--signal=USR1).
bool is_for_ranks(int number) {
  return number == SIGUSR1 || number == SIGUSR2;
}

}  // namespace

void RunEngine::announce() {
  RunRecord record;
  record.run = folder_->id();
  record.name = options_.spec.name;
  record.job_file = options_.job_file;
  record.folder = options_.current_folder;
  record.host = host_name();
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
    note(presence.error().message + "; dlaunch runs, logs and stop will not find this run");
  }
  const std::string paths = folder_->path() + '\0' + shown_path_;
  send_front_message(front_.get(), FrontMessage::run_folder, paths.data(), paths.size());
}

void RunEngine::hand_over() {
  drain_console();
  const Status logging = hand_over_.let_go(folder_->path() + "/dlaunch.log");
  (void)console_.targets_changed();
  given_up_ = {false, false};
  if (!logging && events_) events_->note("notice", logging.error().message, wall_now());
  send_front_message(front_.get(), FrontMessage::started);
}

/// The terminal has shown "^C" and stays behind it.
void RunEngine::end_echo_line(int signal) {
  if ((signal == SIGINT || signal == SIGQUIT) && ::isatty(STDERR_FILENO) == 1)
    console_.write(Stream::err, "\n");
}

void RunEngine::watch_front() {
  front_.on_readable([this] { read_front(); });
}

void RunEngine::read_front() {
  char message[1 + kStdinChunk];
  const ssize_t n = ::recv(front_.get(), message, sizeof message, MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    if (!hand_over_.accepted()) push(event::FrontGone{});
    return;
  }
  watch_front();
  if (n < 0) return;
  const std::string body(message + 1, static_cast<std::size_t>(n) - 1);
  switch (static_cast<FrontMessage>(message[0])) {
    case FrontMessage::signal:
      end_echo_line(body.empty() ? 0 : body.front());
      if (!body.empty() && is_for_ranks(body.front())) {
        passed_.came_to_front(body.front(), monotonic_now());
        return pass_signal(body.front());
      }
      return cancel(CancelOrigin::front, body.empty() ? 0 : body.front());
    case FrontMessage::stdin_data:
    case FrontMessage::stdin_end:
      if (body.ends_with('\n')) router_.answered();
      return stdin_.add(body);
    case FrontMessage::hand_over:
      return hand_over_.accept();
    case FrontMessage::answer:
      return user_answered(body);
    case FrontMessage::refuse:
      return user_answered(std::nullopt);
    case FrontMessage::ping:
      send_front_message(front_.get(), FrontMessage::pong, nullptr, 0, false);
      break;
    case FrontMessage::pong:
    case FrontMessage::stdin_more:
    case FrontMessage::run_folder:
    case FrontMessage::started:
    case FrontMessage::ask:
    case FrontMessage::withdraw:
      break;
  }
}

void RunEngine::watch_signals() {
  signals_.on_readable([this] {
    while (const int number = read_signal(signals_.get())) {
      if (number == kStopAtOnce) {  // a second one kills
        push(event::CancelSignal{SIGTERM});
        push(event::CancelSignal{SIGTERM});
      } else {
        cancel(CancelOrigin::engine, number);
      }
    }
    watch_signals();
  });
}

void RunEngine::cancel(CancelOrigin origin, int number) {
  if (!cancels_.counts(origin, number, monotonic_now())) return;
  push(event::CancelSignal{number});
  ask_slurm(number, true);
}

/// Why it came, and how long there is. `ends`: the run ends by it.
void RunEngine::ask_slurm(int number, bool ends) {
  const bool may_be_slurms = number == SIGTERM || number == SIGHUP || is_for_ranks(number);
  if (!may_be_slurms) return;
  const MonotonicTime came = monotonic_now();
  const auto about = ends ? SlurmInquiry::About::ending : SlurmInquiry::About::warning;
  slurm_.ask(about, [this, number, ends, came](const SlurmNotice& notice) {
    if (ends && slurm_said_.empty()) slurm_said_ = notice.text;
    if (ends && notice.left) push(event::Deadline{came + *notice.left});
    if (notice.left) tell_deadline(came + *notice.left);
    if (!notice.text.empty()) note(std::string(signal_name(number)) + ": " + notice.text);
  });
}

/// For ranks that look at a file between two steps rather than handle signals.
void RunEngine::tell_deadline(MonotonicTime at) {
  if (!plan_ || !started_) return;
  const WallTime wall = wall_now() + (at - monotonic_now());
  for (std::uint32_t i = 0; i < plan_->nodes.size(); ++i) {
    const NodePlan& node = plan_->nodes[i];
    if (node.ranks.empty()) continue;
    sessions_.send(NodeIndex(i),
                   wire::Deadline{plan_->attempt, node.output_folder + "/deadline", wall});
  }
}

/// Each node tells of it, and where the scheduler signals the launcher's own step as well, the
/// front does; so nodes never count twice, nor after another one.
void RunEngine::scheduler_signalled(std::uint32_t origin, int number) {
  if (is_for_ranks(number)) {
    if (passed_.came_from_node(origin, number, monotonic_now())) pass_signal(number);
    return;
  }
  if (!cancels_.any()) cancel(CancelOrigin::nodes, number);
}

/// What it means is between the user and the ranks.
void RunEngine::pass_signal(int number) {
  if (events_) events_->note("signal", signal_name(number), wall_now());
  ask_slurm(number, false);
  if (!plan_ || !started_) return;
  for (std::uint32_t i = 0; i < plan_->nodes.size(); ++i) {
    if (!plan_->nodes[i].ranks.empty())
      sessions_.send(NodeIndex(i), wire::SignalRanks{plan_->attempt, number});
  }
}

}  // namespace dlaunch
