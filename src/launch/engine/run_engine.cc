#include "launch/engine/run_engine.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <malloc.h>
#include <unistd.h>

#include "launch/console/debug_log.h"
#include "launch/front/front_link.h"
#include "launch/session/node_events.h"
#include "launch/session/start_message.h"
#include "node/sync/sync_remarks.h"
#include "os/clock.h"
#include "os/process_title.h"
#include "os/signals.h"
#include "report/summary.h"
#include "supervise/wording.h"
#include "text/duration_text.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

// Shorter outages and copies are not worth a line.
constexpr Duration kNoticeable = std::chrono::seconds(3);
constexpr Duration kNoticeableCopy = std::chrono::seconds(2);
// The last messages of the start are acknowledged by then.
constexpr std::chrono::seconds kAfterStart{1};

UniqueFd open_engine_signals() {
  auto fd = open_signal_fd({SIGINT, SIGTERM, SIGHUP, SIGQUIT, kStopAtOnce});
  return fd ? std::move(*fd) : UniqueFd();
}

/// This node as Slurm names it, if all ranks are in the batch script of a job and no agent is a
/// step of it; else empty.
std::string node_without_steps(const RunOptions& options, const std::vector<NodeTarget>& targets) {
  const bool alone = targets.size() == 1 && targets.front().is_local();
  const bool in_step = options.environment.contains("SLURM_STEP_ID");
  return options.spec.hosts.in_slurm && alone && !in_step ? targets.front().host.name : "";
}

/// The rank that an event is about; nullopt: not a single rank.
std::optional<Rank> rank_of(const Event& event) {
  return std::visit(
      [](const auto& one) -> std::optional<Rank> {
        if constexpr (requires { one.rank; }) {
          return one.rank;
        } else {
          return std::nullopt;
        }
      },
      event);
}

std::vector<std::string> metric_names(const JobSpec& spec) {
  std::vector<std::string> names;
  for (const auto& [name, pattern] : spec.metrics) names.push_back(name);
  return names;
}

std::string since(MonotonicTime began) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now() - began).count();
  return " after " + std::to_string(micros / 1000) + '.' + std::to_string(micros % 1000 / 100) +
         " ms";
}

}  // namespace

RunEngine::RunEngine(const RunOptions& options, LocalStart local, UniqueFd front_link,
                     HandOver hand_over)
    : options_(options),
      began_(monotonic_now()),
      console_(STDOUT_FILENO, STDERR_FILENO),
      nodes_(loop_, options.spec, std::move(local),
             {.on_message =
                  [this](NodeId node, wire::FromAgent message) {
                    std::visit([&](auto& one) { on(node, one); }, message);
                  },
              .on_news =
                  [this](NodeId node, NodeNews news) {
                    std::visit([&](auto& one) { on_news(node, one); }, news);
                  },
              .on_wait = [this] { push(event::UserAsked{}); }}),
      router_(loop_, console_,
              [this](const wire::OutputCredit& credit) {
                if (plan_) nodes_.send(plan_->node_of(credit.rank), credit);
              }),
      store_(loop_, options, [this](const std::string& line) { screen_.say(line); }),
      screen_(console_, router_, store_, options),
      output_(loop_, options, nodes_, store_, console_, router_, screen_),
      front_(loop_, options, std::move(front_link), std::move(hand_over), nodes_, store_, screen_,
             output_,
             {.push = [this](Event event) { push(std::move(event)); },
              .signalled = [this](int number) { signals_.from_front(number); }}),
      signals_(loop_, options, node_without_steps(options, nodes_.targets()), nodes_, store_,
               screen_, open_engine_signals(), [this](Event event) { push(std::move(event)); }),
      mpi_(options, nodes_, store_, screen_),
      watch_(is_watched(options.spec), metric_names(options.spec)),
      rounds_(loop_, nodes_),
      questions_(loop_, rounds_,
                 {.status = [this] { return status(); },
                  .stop = [this](const StopQuestion& question) { return stop(question); }}),
      stalls_(loop_, options, rounds_, store_, screen_,
              [this](Event event) { push(std::move(event)); }),
      slow_(options, nodes_, screen_),
      samples_(store_, metric_names(options.spec), began_),
      checkpoints_(options, nodes_, store_, screen_),
      checkpoint_stop_(loop_, options, nodes_, screen_, [this] { signals_.stop(); }),
      terminals_(loop_, nodes_),
      preparation_(
          loop_, options.spec, {.adapt = options.prepare}, nodes_,
          {.done = [this](Prepared outcome) { prepared(std::move(outcome)); },
           .copying = [this](bool under_way) { push(event::Copying{under_way}); },
           .synced = [this](const SyncReport& report) { tell_copy(report, copied_text(report)); },
           .staged = [this](const StageReport& report) { tell_copy(report, staged_text(report)); },
           .show = [this](std::string text) { screen_.show_status(std::move(text)); },
           .note = [this](const std::string& text) { screen_.note(text); }}),
      return_check_(loop_, options.spec, nodes_,
                    {.passed = [this](NodeId node, Attempt attempt) { pass(node, attempt); },
                     .failed = [this](NodeId node, std::string what,
                                      bool is_new) { refuse(node, std::move(what), is_new); }}),
      collect_(loop_, options, nodes_, store_, screen_),
      give_back_(loop_),
      prometheus_(
          loop_, options, [this] { return prometheus({}, ""); },
          [this](const std::string& line) { screen_.note(line); }) {
  debug_log::set_verbosity(options.verbosity);
  if (options.verbosity > 0) {
    debug_log::set_output(
        [this](std::string_view line) { router_.say(Stream::err, std::string(line)); });
  }
}

Status RunEngine::open_run_folder() {
  nodes_.begin_run();
  const Status opened = store_.open();
  if (!store_.is_open()) return opened;
  nodes_.set_run(store_.folder().id());
  set_process_title("dlaunch: engine " + store_.folder().id());
  front_.announce();
  // A run that cannot take questions is otherwise as good as any other.
  if (const Status listens = questions_.open(store_.folder().path()); !listens)
    store_.note("notice", "dlaunch stacks cannot ask this run: " + listens.error().message);
  if (const Status listens = terminals_.open(store_.folder().path()); !listens)
    store_.note("notice", "dlaunch attach cannot reach this run: " + listens.error().message);
  prometheus_.begin();
  return opened;
}

MonotonicTime RunEngine::now() const {
  return monotonic_now();
}

// ---- events

Result<Event> RunEngine::wait(std::optional<MonotonicTime> deadline) {
  while (queue_.empty()) {
    if (deadline && monotonic_now() >= *deadline) return event::Tick{};
    const auto write_events = store_.write_due();
    loop_.run_one(write_events ? std::min(*write_events, deadline.value_or(*write_events))
                               : deadline);
  }
  Event event = std::move(queue_.front());
  queue_.pop_front();
  return event;
}

/// Every event goes to the supervisor first; tell() informs the other parts.
void RunEngine::push(Event event) {
  finishing_ ? tell(event) : queue_.push_back(std::move(event));
}

void RunEngine::tell(const Event& event) {
  store_.record(event);
  if (options_.verbosity > 0) explain(event);
  if (std::holds_alternative<event::RankStarted>(event) && not_started_ > 0 && --not_started_ == 0)
    give_back_.after(kAfterStart, [this] {
      check_spares();
      give_back();
    });
  if (const auto* ready = std::get_if<event::NodeReady>(&event))
    preparation_.facts_known(ready->node, ready->attempt);
  const auto* lost = std::get_if<event::NodeLost>(&event);
  if (lost != nullptr) return_check_.node_lost(lost->node);
  if (lost != nullptr && nodes_.cluster().find(lost->node) != nullptr) {
    preparation_.node_lost(lost->node, lost->what);
    rounds_.node_lost(lost->node);
    terminals_.node_lost(lost->node);
  }
  signals_.tell(event);
  output_.tell(event);
  front_.tell(event, plan());
  mpi_.tell(event);
  watch_.tell(event);
  stalls_.tell(event);
  slow_.tell(event);
  checkpoint_stop_.tell(event);
  collect_.tell(event);
}

void RunEngine::explain(const Event& event) const {
  if (const auto* ready = std::get_if<event::NodeReady>(&event)) {
    const Node* const found = nodes_.cluster().find(ready->node);
    const Node node = found != nullptr ? *found : Node{};
    debug_log::info(node.name + " is ready" + since(began_) + ": " +
                    std::to_string(node.facts.cores.size()) + " cores, " +
                    std::to_string(node.facts.gpus.size()) + " GPUs, Linux " +
                    plain_line(node.facts.kernel));
  } else if (std::holds_alternative<event::PlanMade>(event)) {
    debug_log::info("plan made" + since(began_));
  } else if (const auto* empty = std::get_if<event::NodeEmpty>(&event)) {
    debug_log::info("no processes are left on node " + std::to_string(empty->node.value) +
                    since(began_));
  } else if (!debug_log::wants_debug()) {
    return;
  } else if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    debug_log::debug("rank " + std::to_string(started->rank.value) + " is pid " +
                     std::to_string(started->pid) + since(began_));
  } else if (const auto* exited = std::get_if<event::RankExited>(&event)) {
    debug_log::debug("rank " + std::to_string(exited->rank.value) + ' ' + describe(exited->status) +
                     since(began_));
  }
}

void RunEngine::on(NodeId node, wire::RanksStarted& started) {
  for (Event& event : events_of(started, *nodes_.clock(node))) push_of_rank(node, std::move(event));
}

void RunEngine::on(NodeId node, wire::RankNotStarted& failed) {
  push_of_rank(node, event_of(std::move(failed), *nodes_.clock(node)));
}

void RunEngine::on(NodeId node, wire::RankExited& exited) {
  push_of_rank(node, event_of(exited, *nodes_.clock(node)));
}

void RunEngine::on(NodeId node, wire::PortTaken& taken) {
  push_of_rank(node, event_of(std::move(taken)));
}

void RunEngine::on(NodeId node, wire::AttemptEnded& ended) {
  push(event_of(node, ended));
}

void RunEngine::on(NodeId node, wire::MpirunEnded& ended) {
  event::StarterEnded event = event_of(node, ended, *nodes_.clock(node));
  mpi_.complete(event);
  push(std::move(event));
}

void RunEngine::on(NodeId node, wire::PreemptionNotice& notice) {
  push(event_of(node, std::move(notice)));
}

/// The first output counts as progress. A pulse would report it too, but only if ranks are watched,
/// and up to an interval later.
void RunEngine::on(NodeId node, wire::OutputData& data) {
  const bool is_new = plan_ && data.attempt == plan_->attempt;
  if (is_new && !std::exchange(has_output_, true)) push(event::Progress{data.attempt});
  output_.on(node, data);
}

/// An agent is believed only about its own ranks, whatever it sends.
void RunEngine::push_of_rank(NodeId node, Event event) {
  const auto rank = rank_of(event);
  if (rank && plan_ && plan_->runs_on(*rank, node)) push(std::move(event));
}

/// No data was lost, so the console gets a line only if the user may have wondered.
void RunEngine::on_news(NodeId node, node_news::Resumed& resumed) {
  const std::string text = nodes_.targets()[node.value].host.name + ": its connection was lost (" +
                           resumed.cause + ") and was resumed after " +
                           duration_text(resumed.outage);
  if (resumed.outage > kNoticeable || options_.verbosity > 0) return screen_.note(text);
  store_.note("notice", text);
}

/// Reconnecting is already under way. Users want to know while they can still do something.
void RunEngine::on_news(NodeId node, node_news::Silent& silent) {
  stalls_.unheard(node, silent.silence);
  const auto planned = started_ && plan_ ? plan_->find(node) : std::nullopt;
  const bool has_ranks = planned && !plan_->nodes[planned->value].ranks.empty();
  const Duration fence = options_.spec.timeouts.fence_after;
  std::string text = nodes_.targets()[node.value].host.name + " has not answered for " +
                     duration_text(silent.silence) + "; it is being reconnected";
  if (has_ranks && silent.silence < fence)
    text += ", and its ranks go on until " + wording::duration(fence) + " have passed";
  screen_.note(text);
}

// ---- actions

Status RunEngine::perform(const Action& action) {
  std::visit([this](const auto& one) { begin(one); }, action);
  return {};
}

/// A node that is reconnected in the middle of a run (`within` is set) cannot ask for a password.
/// Between two attempts, connecting waits for the output of the last one; while ranks run, it does
/// not wait.
void RunEngine::begin(const action::ConnectNode& connect) {
  const Duration within = connect.within.value_or(Duration(0));
  if (connect.attempt.value > 0 && !started_) {
    return output_.when_out(
        [this, connect, within] { nodes_.connect(connect.node, connect.attempt, within); });
  }
  if (!connect.within) front_.connecting(connect.node);
  nodes_.connect(connect.node, connect.attempt, within);
}

void RunEngine::begin(const action::GatherFacts& gather) {
  output_.when_out([this, gather] { nodes_.gather(gather.node, gather.attempt); });
}

void RunEngine::begin(const action::MakePlan& make) {
  front_.connected();
  if (const Status made = store_.begin_attempt(make.attempt); !made)
    return push(event::PlanFailed{made.error()});
  preparation_.begin(plan_context(make.attempt));
}

PlanContext RunEngine::plan_context(Attempt attempt) const {
  PlanContext context;
  context.run_id = store_.folder().id();
  context.attempt = attempt;
  context.launcher_env = options_.environment;
  context.current_folder = options_.current_folder;
  context.run_folder = store_.folder().path();
  return context;
}

void RunEngine::begin_attempt(LaunchPlan plan) {
  plan_ = std::move(plan);
  has_output_ = false;
  mpi_.begin(*plan_);
  output_.begin(*plan_);
  if (plan_->attempt.value == 0) {  // a restart has its own line
    if (plan_->ranks.size() > 1 && !options_.quiet) screen_.say(start_line(*plan_));
    for (const std::string& text : plan_->notes) screen_.note(text);
  }
  // These notes were already shown, before there was a run.
  plan_->notes.insert(plan_->notes.end(), options_.preflight.begin(), options_.preflight.end());
}

template <class Report>
void RunEngine::tell_copy(const Report& report, const std::string& text) {
  for (const auto& node : report.nodes) store_.record(node);
  for (const std::string& remark : remarks_on(report)) screen_.note(remark);
  if (options_.quiet || (report.took < kNoticeableCopy && options_.verbosity == 0)) return;
  screen_.say("dlaunch: " + text);
}

void RunEngine::begin(const action::StartRanks& start) {
  if (planned_ && planned_->attempt == start.attempt)
    begin_attempt(*std::exchange(planned_, std::nullopt));
  nodes_.set_ranks_run(true);
  StartSettings settings;
  settings.secrets = secret_environment(options_.spec, options_.environment);
  settings.stdin_rank = stdin_rank(options_, *plan_);
  if (options_.spec.pty) settings.terminal_rank = Rank(*options_.spec.pty);
  if (is_watched(options_.spec)) settings.pulse_interval = options_.spec.watch.interval;
  settings.preemption = options_.spec.preemption;
  settings.preload = options_.spec.preload;
  settings.checkpoints = options_.spec.checkpoint.path;
  for (const auto& [name, pattern] : options_.spec.metrics) settings.metrics.push_back(pattern);
  output_.start(settings);
  watch_.begin(*plan_, now());
  samples_.begin(*plan_, now());
  const NodeRank planned = plan_->find(start.node).value_or(NodeRank());
  for (wire::StartRanks& message : start_messages(*plan_, planned, settings))
    nodes_.send(start.node, std::move(message));
  if (std::exchange(started_, true)) return;
  rounds_.set_plan(&*plan_);
  questions_.set_plan(&*plan_);
  stalls_.begin(*plan_);
  slow_.begin(*plan_);
  checkpoints_.begin(*plan_);
  checkpoint_stop_.set_plan(&*plan_);
  terminals_.set_plan(&*plan_);
  signals_.begin(*plan_);
  if (settings.stdin_rank) front_.begin_stdin(*plan_, *settings.stdin_rank);
  // Written while the agents start the ranks, which do not need the file.
  loop_.post([this] { store_.write_plan(*plan_); });
  not_started_ = plan_->ranks.size();
}

/// Most of what the start of a large job takes is not needed while its ranks run: the agents and
/// plan.json have the variables. Only a node that returns is judged by the facts of the others.
void RunEngine::give_back() {
  if (!has_membership(options_.spec)) nodes_.forget_facts();
  for (NodePlan& node : plan_->nodes) std::vector<Variable>().swap(node.variables);
  for (RankPlan& rank : plan_->ranks) std::vector<Variable>().swap(rank.variables);
  ::malloc_trim(0);
}

void RunEngine::set_stopping(bool stopping) {
  stopping_ = stopping;
  store_.set_stopping(stopping);
  if (stopping) watch_.set_stopping();
}

void RunEngine::begin(const action::StopRanks& stop) {
  mpi_.hush();
  stalls_.end();
  slow_.end();
  if (stop.ranks.empty()) set_stopping(true);
  nodes_.send(stop.node, wire::StopRanks{stop.attempt, stop.signal, stop.ranks});
}

void RunEngine::begin(const action::KillRanks& kill) {
  if (kill.ranks.empty()) set_stopping(true);
  nodes_.send(kill.node, wire::KillRanks{kill.attempt, kill.ranks});
}

void RunEngine::begin(const action::ReleaseNode& release) {
  // A node that is kept here is released by finish().
  const std::optional<LaunchPlan>& plan = planned_ ? planned_ : plan_;
  const bool is_needed = !options_.spec.collect.empty() && plan && plan->find(release.node);
  if (output_.is_out() && !is_needed) nodes_.release(release.node);
}

void RunEngine::begin(const action::RemoveNode& remove) {
  if (started_) return nodes_.remove(remove.node);  // it has no output
  output_.when_out([this, node = remove.node] { nodes_.remove(node); });
}

void RunEngine::begin(const action::Restart& restart) {
  started_ = false;
  give_back_.cancel();
  rounds_.set_plan(nullptr);
  questions_.set_plan(nullptr);
  stalls_.end();
  slow_.end();
  terminals_.set_plan(nullptr);
  signals_.end();
  checkpoints_.end(true);
  checkpoint_stop_.set_plan(nullptr);
  nodes_.set_ranks_run(false);
  set_stopping(false);
  store_.record(restart);
  output_.tell(restart);
  front_.tell(restart);
  watch_.tell(restart);
}

}  // namespace dlaunch
