#include "launch/engine/signal_side.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "launch/front/front_link.h"
#include "model/signal_names.h"
#include "os/clock.h"
#include "os/signals.h"
#include "supervise/preemption.h"

namespace dlaunch {

namespace {

// Stands in for a node's number: the Slurm step that listens for signals where dlaunch itself
// runs.
constexpr std::uint32_t kListener = ~std::uint32_t{0};

/// Signals that mean nothing to dlaunch itself: schedulers send them on request (--signal=USR1).
bool is_for_ranks(int number) {
  return number == SIGUSR1 || number == SIGUSR2;
}

}  // namespace

bool CancelOrigins::counts(CancelOrigin origin, int number, MonotonicTime now) {
  constexpr std::chrono::seconds kSameSignal{1};
  const auto mine = static_cast<std::size_t>(origin);
  const auto nodes = static_cast<std::size_t>(CancelOrigin::nodes);
  const bool first_of_mine = !at_[mine];
  bool others_just_now = number == SIGTERM && mine != nodes && at_[nodes];
  for (std::size_t i = 0; i < at_.size(); ++i)
    others_just_now = others_just_now || (i != mine && at_[i] && now - *at_[i] < kSameSignal);
  at_[mine] = now;
  return !(first_of_mine && others_just_now);
}

bool CancelOrigins::any() const {
  return std::any_of(at_.begin(), at_.end(), [](const auto& at) { return at.has_value(); });
}

SignalSide::SignalSide(EventLoop& loop, const RunOptions& options, std::string lone_node,
                       Nodes& nodes, RunStore& store, Screen& screen, UniqueFd signals, Push push)
    : lone_node_(std::move(lone_node)),
      stop_grace_(options.spec.timeouts.stop),
      nodes_(nodes),
      store_(store),
      screen_(screen),
      push_(std::move(push)),
      signals_(loop, std::move(signals)),
      inquiry_(loop, options.environment),
      listener_(loop, [this](int number) { from_scheduler(kListener, number); }) {
  watch();
}

void SignalSide::begin(const LaunchPlan& plan) {
  running_ = &plan;
  if (!lone_node_.empty() && plan.attempt.value == 0) listener_.start(lone_node_);
}

void SignalSide::watch() {
  signals_.on_readable([this] {
    while (const int number = repeated_.read(signals_.get())) {
      number == kStopAtOnce ? kill() : cancel(CancelOrigin::engine, number);
    }
    watch();
  });
}

void SignalSide::stop() {
  if (!cancels_.any()) cancel(CancelOrigin::command, SIGTERM);
}

/// A second cancel kills.
void SignalSide::kill() {
  push_(event::CancelSignal{SIGTERM});
  push_(event::CancelSignal{SIGTERM});
}

void SignalSide::from_front(int number) {
  if (!is_for_ranks(number)) return cancel(CancelOrigin::front, number);
  passed_.came_to_front(number, monotonic_now());
  pass(number);
}

void SignalSide::on(NodeId node, const wire::Signalled& signalled) {
  from_scheduler(node.value, signalled.signal);
}

/// Each node reports the signal, and so does the front if the scheduler signals the launcher's own
/// step, too. So nodes never count twice, nor after another origin.
void SignalSide::from_scheduler(std::uint32_t origin, int number) {
  if (!is_for_ranks(number)) {
    if (!cancels_.any()) cancel(CancelOrigin::nodes, number);
  } else if (passed_.came_from_node(origin, number, monotonic_now())) {
    pass(number);
  }
}

void SignalSide::cancel(CancelOrigin origin, int number) {
  if (!cancels_.counts(origin, number, monotonic_now())) return;
  push_(event::CancelSignal{number});
  ask_slurm(number, true);
}

/// The meaning of the signal is up to the user and the ranks.
void SignalSide::pass(int number) {
  store_.note("signal", signal_name(number));
  ask_slurm(number, false);
  if (running_ == nullptr) return;
  for (const NodePlan& node : running_->nodes) {
    if (!node.ranks.empty()) nodes_.send(node.id, wire::SignalRanks{running_->attempt, number});
  }
}

/// Asks why the signal came, and how much time is left. `ends`: the signal ends the run.
void SignalSide::ask_slurm(int number, bool ends) {
  const bool may_be_slurms = number == SIGTERM || number == SIGHUP || is_for_ranks(number);
  if (!may_be_slurms) return;
  const MonotonicTime came = monotonic_now();
  const auto about = ends ? SlurmInquiry::About::ending : SlurmInquiry::About::warning;
  inquiry_.ask(about, [this, number, ends, came](const SlurmNotice& notice) {
    if (ends && reason_.empty()) reason_ = notice.text;
    if (ends && notice.left) push_(event::Deadline{came + *notice.left});
    if (notice.left) tell_deadline(came + *notice.left);
    if (!notice.text.empty()) screen_.note(std::string(signal_name(number)) + ": " + notice.text);
  });
}

void SignalSide::tell(const Event& event) {
  const auto* const notice = std::get_if<event::Preempted>(&event);
  if (notice == nullptr || running_ == nullptr || notice->attempt != running_->attempt) return;
  tell_deadline(monotonic_now() + grace_after_notice(notice->left, stop_grace_));
}

/// For ranks that check a file between two steps rather than handle signals.
void SignalSide::tell_deadline(MonotonicTime at) {
  if (running_ == nullptr) return;
  const WallTime wall = wall_now() + (at - monotonic_now());
  for (const NodePlan& node : running_->nodes) {
    if (node.ranks.empty()) continue;
    nodes_.send(node.id, wire::Deadline{running_->attempt, node.output_folder + "/deadline", wall});
  }
}

}  // namespace dlaunch
