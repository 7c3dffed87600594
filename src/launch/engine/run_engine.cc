#include "launch/engine/run_engine.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/front/front_link.h"
#include "launch/output/output_settings.h"
#include "launch/session/start_message.h"
#include "log/diagnostics.h"
#include "os/clock.h"
#include "os/process_title.h"
#include "os/signals.h"
#include "plan/success.h"
#include "report/plain_text.h"
#include "report/plan_json.h"
#include "report/summary.h"
#include "supervise/wording.h"
#include "text/duration_text.h"

namespace dlaunch {

namespace {

// The console gets so long for the rest of an attempt's output before the next one begins.
constexpr Duration kCatchUp = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kCatchUpStep{20};
// In place of a node's index: the step that listens where dlaunch itself runs.
constexpr std::uint32_t kListener = ~std::uint32_t{0};

UniqueFd open_engine_signals() {
  auto fd = open_signal_fd({SIGINT, SIGTERM, SIGHUP, SIGQUIT, kStopAtOnce});
  return fd ? std::move(*fd) : UniqueFd();
}

std::string node_without_steps(const RunOptions& options, const std::vector<NodeTarget>& targets) {
  const bool alone = targets.size() == 1 && targets.front().way == NodeTarget::Way::fork;
  const bool in_step = options.environment.contains("SLURM_STEP_ID");
  return options.spec.hosts.in_slurm && alone && !in_step ? targets.front().host.name : "";
}

/// Of whom an event tells; none: of no single rank.
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

}  // namespace

RunEngine::RunEngine(const RunOptions& options, LocalStart local, UniqueFd front_link,
                     HandOver hand_over)
    : options_(options),
      began_(monotonic_now()),
      without_steps_(node_without_steps(options, local.targets)),
      console_(STDOUT_FILENO, STDERR_FILENO),
      sessions_(
          loop_, options.spec, std::move(local),
          {[this](NodeIndex node, Event event) { heard(node, std::move(event)); },
           [this](NodeIndex node, const wire::OutputView& data) { show(node, data); },
           [this](NodeIndex node, const wire::OutputEnd& end) { output_ended(node, end); },
           [this](const wire::StdinTaken& taken) { stdin_.taken(taken); },
           [this](const std::string& text) { note(text); },
           [this](NodeIndex node, const wire::PlacesMissing& answer) {
             planner_.on_places(node, answer);
           },
           [this](NodeIndex node, const wire::FetchedOutput& fetched) {
             collector_.fetched(node, fetched);
           },
           [this](NodeIndex node, Duration outage, const std::string& cause) {
             connection_resumed(node, outage, cause);
           },
           [this](NodeIndex node, const wire::Message& answer) { planner_.on_reach(node, answer); },
           [this](NodeIndex node, const wire::Message& answer) { planner_.on_sync(node, answer); },
           [this](NodeIndex node, Duration silence) { node_silent(node, silence); },
           [this](NodeIndex node, wire::Message message) { pass_on(node, std::move(message)); },
           [this](NodeIndex node, int signal) { scheduler_signalled(node.value, signal); }}),
      collector_(
          [this](NodeIndex node, const wire::Message& message) { sessions_.send(node, message); }),
      planner_(loop_, options.spec, options.prepare, sessions_,
               [this](Result<LaunchPlan> plan) {
                 if (!plan) return push(event::PlanFailed{plan.error()});
                 accept_plan(std::move(*plan));
               },
               {[this](bool under_way) { push(event::Copying{under_way}); },
                [this](const SyncReport& report) { tell_sync(report); },
                [this](std::string text) {
                  if (status_target_) router_.show_status(*status_target_, std::move(text));
                }}),
      router_(loop_, console_,
              [this](const wire::OutputCredit& credit) {
                if (plan_) sessions_.send(plan_->ranks[credit.rank.value].node, credit);
              }),
      connecting_(loop_,
                  [this](std::string text) {
                    if (status_target_) router_.show_status(*status_target_, std::move(text));
                  }),
      front_(loop_, std::move(front_link)),
      stdin_({[this] { send_front_message(front_.get(), FrontMessage::stdin_more); },
              [this](wire::StdinData data) {
                sessions_.send(plan_->ranks.front().node, std::move(data));
              }}),
      signals_(loop_, open_engine_signals()),
      write_times_(loop_),
      ask_git_(loop_),
      slurm_(loop_, options.environment),
      listener_(loop_, [this](int signal) { scheduler_signalled(kListener, signal); }),
      hand_over_(std::move(hand_over)),
      catch_up_(loop_) {
  diagnostics::set_verbosity(options.verbosity);
  if (!options.quiet && !options.plain) status_target_ = live_target(options.environment);
  if (options.verbosity > 0) {
    diagnostics::set_output(
        [this](std::string_view line) { router_.say(Stream::err, std::string(line)); });
  }
  watch_front();
  watch_signals();
}

Status RunEngine::open_run_folder() {
  const std::string& dir = options_.spec.logs.dir;
  const std::string base = dir.starts_with('/') ? dir : options_.current_folder + '/' + dir;
  auto folder = RunDirectory::create(base, default_state_folder(options_.environment), wall_now);
  if (!folder) {
    return fail(folder.error().exit_code, "no folder for this run: " + folder.error().message +
                                              "\n         try: --set logs.dir=FOLDER");
  }
  folder_ = std::move(*folder);
  sessions_.set_run(folder_->id());
  set_process_title("dlaunch: engine " + folder_->id());
  const std::string inside = options_.current_folder + '/';
  shown_path_ = folder_->path();
  if (shown_path_.starts_with(inside)) shown_path_.erase(0, inside.size());
  announce();
  auto attempt_folder = folder_->make_attempt_folder(Attempt(0));  // now, while the agent starts
  if (!attempt_folder) return tl::unexpected(attempt_folder.error());
  attempt_folder_ = std::move(*attempt_folder);
  if (folder_->fell_back())
    say("dlaunch: note: cannot write to " + base + ", logs are in " + folder_->path());
  auto events = EventLog::open(folder_->path() + "/events.jsonl");
  if (!events) return tl::unexpected(events.error());
  events_ = std::move(*events);
  return {};
}

MonotonicTime RunEngine::now() const {
  return monotonic_now();
}

Result<Event> RunEngine::wait(std::optional<MonotonicTime> deadline) {
  while (queue_.empty()) {
    if (deadline && monotonic_now() >= *deadline) return event::Tick{};
    const auto write_events = write_due_events();
    loop_.run_one(write_events ? std::min(*write_events, deadline.value_or(*write_events))
                               : deadline);
  }
  Event event = std::move(queue_.front());
  queue_.pop_front();
  if (events_) events_->add(event, wall_now());
  if (options_.verbosity > 0) explain(event);
  return event;
}

/// When to ask again; nullopt: nothing waits.
std::optional<MonotonicTime> RunEngine::write_due_events() {
  if (!events_ || !events_->due()) return std::nullopt;
  const MonotonicTime left = *events_->due() - wall_now();
  // More: the wall clock was set back meanwhile.
  if (left > MonotonicTime(0) && left <= EventLog::kMostWait) return monotonic_now() + left;
  (void)events_->flush();
  return std::nullopt;
}

std::string RunEngine::since_begin() const {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now() - began_).count();
  return " after " + std::to_string(micros / 1000) + '.' + std::to_string(micros % 1000 / 100) +
         " ms";
}

void RunEngine::explain(const Event& event) const {
  if (const auto* ready = std::get_if<event::NodeReady>(&event)) {
    const Node& node = sessions_.cluster().nodes[ready->node.value];
    diagnostics::info(node.name + " is ready" + since_begin() + ": " +
                      std::to_string(node.facts.cores.size()) + " cores, " +
                      std::to_string(node.facts.gpus.size()) + " GPUs, Linux " +
                      plain_line(node.facts.kernel));
  } else if (std::holds_alternative<event::PlanMade>(event)) {
    diagnostics::info("plan made" + since_begin());
  } else if (const auto* empty = std::get_if<event::NodeEmpty>(&event)) {
    diagnostics::info("node " + std::to_string(empty->node.value) + " runs nothing any more" +
                      since_begin());
  } else if (!diagnostics::wants_debug()) {
    return;
  } else if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    diagnostics::debug("rank " + std::to_string(started->rank.value) + " is pid " +
                       std::to_string(started->pid) + since_begin());
  } else if (const auto* exited = std::get_if<event::RankExited>(&event)) {
    diagnostics::debug("rank " + std::to_string(exited->rank.value) + ' ' +
                       describe(exited->status) + since_begin());
  }
}

Status RunEngine::perform(const Action& action) {
  std::visit([this](const auto& one) { begin(one); }, action);
  return {};
}

void RunEngine::push(Event event) {
  const auto* started = std::get_if<event::RankStarted>(&event);
  if (started != nullptr && plan_ && started->attempt == plan_->attempt &&
      started->rank.value < plan_->ranks.size()) {
    router_.expect(started->rank);
    // Not from within a callback of the channel: it waits for the console.
    if (hand_over_.rank_started(started->attempt, plan_->ranks.size()))
      loop_.post([this] { hand_over(); });
  }
  collect_after(event);
  if (const auto* ready = std::get_if<event::NodeReady>(&event)) connecting_.connected(ready->node);
  if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
    connecting_.failed(lost->node);
    node_lost(lost->node);
  }
  queue_.push_back(std::move(event));
}

void RunEngine::heard(NodeIndex node, Event event) {
  if (auto* end = std::get_if<event::MpirunEnded>(&event)) mpirun_ended(*end);
  const auto* exited = std::get_if<event::RankExited>(&event);
  mpirun_is_quiet_ = mpirun_is_quiet_ || (exited != nullptr && !exited->status.ok());
  const auto rank = rank_of(event);
  if (!rank || runs_on(*rank, node)) push(std::move(event));
}

void RunEngine::node_lost(NodeIndex node) {
  planner_.node_lost(node);
  // The plan ends with the last node that has ranks.
  if (!plan_ || node.value >= plan_->nodes.size()) return;
  for (const Rank rank : plan_->nodes[node.value].ranks) router_.give_up(rank);
}

void RunEngine::begin(const action::Restart& restart) {
  started_ = false;
  stdin_.end();
  if (presence_) presence_->set_stopping(false);
  if (events_) events_->add(restart, wall_now());
}

/// Nobody is asked for a password in the middle of a run.
void RunEngine::begin(const action::ConnectNode& connect) {
  const Duration within = connect.within.value_or(Duration(0));
  if (connect.attempt.value > 0) {
    return ask_when_output_is_out(
        [this, connect, within] { sessions_.connect(connect.node, connect.attempt, within); });
  }
  open_prompts();
  connecting_.waits_for(connect.node, sessions_.cluster().nodes[connect.node.value].name);
  sessions_.connect(connect.node, connect.attempt, within);
}

void RunEngine::begin(const action::GatherFacts& gather) {
  ask_when_output_is_out([this, gather] { sessions_.gather(gather.node, gather.attempt); });
}

void RunEngine::ask_when_output_is_out(std::function<void()> ask) {
  questions_.push_back(std::move(ask));
  if (questions_.size() == 1) gather_when_output_is_out(monotonic_now() + kCatchUp);
}

/// The console shows one attempt at a time. Mostly the back-off was long enough.
void RunEngine::gather_when_output_is_out(MonotonicTime give_up_at) {
  if (!router_.complete() && monotonic_now() < give_up_at) {
    return catch_up_.after(kCatchUpStep,
                           [this, give_up_at] { gather_when_output_is_out(give_up_at); });
  }
  if (!router_.complete()) {
    router_.cut_off();
    note("the console was too slow for all output of this attempt, it is in " + attempt_folder_);
  }
  gather_when_collected(collector_.progress(), monotonic_now() + node_stall());
}

/// The agents forget an attempt's files with the next one. `give_up_at` moves with each byte.
void RunEngine::gather_when_collected(std::uint64_t progress, MonotonicTime give_up_at) {
  collector_.fetch_rest();
  if (!collector_.complete() && monotonic_now() < give_up_at) {
    return catch_up_.after(kCatchUpStep, [this, progress, give_up_at] {
      const std::uint64_t now = collector_.progress();
      gather_when_collected(now, now == progress ? give_up_at : monotonic_now() + node_stall());
    });
  }
  end_collection();
  for (const auto& ask : std::exchange(questions_, {})) ask();
}

void RunEngine::begin(const action::MakePlan& make) {
  close_prompts();
  auto attempt_folder = folder_->make_attempt_folder(make.attempt);
  if (!attempt_folder) return push(event::PlanFailed{attempt_folder.error()});
  attempt_folder_ = std::move(*attempt_folder);
  PlanContext context;
  context.run_id = folder_->id();
  context.attempt = make.attempt;
  context.launcher_env = options_.environment;
  context.current_folder = options_.current_folder;
  context.run_folder = folder_->path();
  planner_.begin(std::move(context));
}

/// Between the PMIx servers of the nodes.
void RunEngine::pass_on(NodeIndex from, wire::Message message) {
  if (hear_mpirun(from, message)) return;
  if (const auto* ready = std::get_if<wire::PmixReady>(&message))
    return planner_.on_pmix(from, *ready);
  std::vector<PmixRelay::Letter> letters;
  if (auto* fence = std::get_if<wire::PmixFence>(&message)) {
    letters = pmix_.on(from, std::move(*fence));
  } else if (const auto* wanted = std::get_if<wire::PmixWanted>(&message)) {
    letters = pmix_.on(from, *wanted);
  } else if (auto* data = std::get_if<wire::PmixData>(&message)) {
    letters = pmix_.on(from, std::move(*data));
  }
  for (const PmixRelay::Letter& letter : letters) {
    for (const NodeIndex node : letter.to) sessions_.send(node, letter.message);
  }
}

void RunEngine::accept_plan(LaunchPlan plan) {
  times_ = {};
  pmix_ = PmixRelay(plan);
  begin_mpirun(plan);
  event::PlanMade made{plan.attempt, {}, deciding_ranks(options_.spec, plan)};
  if (plan.mpirun) made.mpirun_on = NodeIndex(0);
  for (const RankPlan& rank : plan.ranks) made.node_of_rank.push_back(rank.node);
  OutputRouter::Settings settings =
      output_settings(plan, options_.spec.logs, options_.environment,
                      shown_path_ + "/attempt-" + std::to_string(plan.attempt.value));
  if (options_.stdin_is_terminal && forwards_stdin(plan)) settings.prompts_of = Rank(0);
  if (options_.detach) follow_only(plan, settings);
  if (options_.plain) {
    settings.console.colour = false;
    settings.live.reset();
  }
  router_.begin(std::move(settings));
  collector_.begin(plan, attempt_folder_);
  collection_ended_ = false;
  if (plan.attempt.value == 0) {  // a restart has said its line
    if (plan.ranks.size() > 1 && !options_.quiet) say(start_line(plan));
    for (const std::string& text : plan.notes) note(text);
  }
  // Said already, before there was a run.
  plan.notes.insert(plan.notes.end(), options_.preflight.begin(), options_.preflight.end());
  plan_ = std::move(plan);
  push(std::move(made));
}

void RunEngine::begin(const action::StartRanks& start) {
  if (presence_) presence_->set_stopping(false);
  StartSettings settings;
  settings.log_folder = attempt_folder_;
  settings.secrets = secret_environment(options_.spec, options_.environment);
  settings.stdin_for_rank0 = forwards_stdin(*plan_);
  settings.output_credit = router_.first_credit();
  settings.shown = router_.passing();
  for (const wire::StartRanks& message : start_messages(*plan_, start.node, settings)) {
    sessions_.send(start.node, message);
  }
  if (started_) return;
  started_ = true;
  if (settings.stdin_for_rank0) stdin_.begin(plan_->attempt);
  if (!without_steps_.empty() && plan_->attempt.value == 0) listener_.start(without_steps_);
  // While the agents start the ranks: nothing of this is needed for that.
  loop_.post([this] { write_plan_files(); });
}

void RunEngine::write_plan_files() {
  write_job_record();
  if (const Status written = folder_->write("plan.json", plan_json(*plan_)); !written)
    say("dlaunch: note: " + written.error().message);
  folder_->reserve_room();
}

void RunEngine::begin(const action::ReleaseNode& release) {
  // Else finish() does.
  if (router_.complete() && collector_.complete()) sessions_.release(release.node);
}

/// Much of this text comes from nodes.
void RunEngine::say(std::string_view text) {
  router_.say(Stream::err, plain_text(text));
}

std::string RunEngine::statement(std::string_view text) const {
  return wrapped_statement(text, screen_columns(options_.environment));
}

/// Sends stdin to rank 0.
bool RunEngine::forwards_stdin(const LaunchPlan& plan) const {
  const StdinFor stdin_for = options_.spec.stdin_for;
  return stdin_for == StdinFor::rank0 ||
         (stdin_for == StdinFor::automatic && options_.stdin_is_terminal && plan.ranks.size() == 1);
}

/// An agent speaks for its own ranks only, whatever it sends.
bool RunEngine::runs_on(Rank rank, NodeIndex node) const {
  return plan_ && rank.value < plan_->ranks.size() && plan_->ranks[rank.value].node == node;
}

void RunEngine::show(NodeIndex node, const wire::OutputView& data) {
  if (!runs_on(data.rank, node)) return;
  collector_.add(node, data);
  if (plan_->nodes[node.value].is_remote && data.attempt == plan_->attempt) note_time(data);
  router_.add(data);
  tell_if_stdout_broke();
}

void RunEngine::tell_if_stdout_broke() {
  if (told_stdout_broken_ || !console_.broken(Stream::out)) return;
  told_stdout_broken_ = true;
  // A pager that was left is no reason to end a training; its files go on.
  note("cannot write to stdout (" + errno_text(console_.error_number(Stream::out)) +
       "); the ranks go on, their output is in " + shown_path_);
}

void RunEngine::note(const std::string& text) {
  // Do this first: writing the file may wait for its file system.
  if (!options_.quiet) say("dlaunch: note: " + text);
  if (events_) events_->note("notice", text, wall_now());
}

/// Nothing was lost by it, so people hear of it only where they may have wondered.
void RunEngine::connection_resumed(NodeIndex node, Duration outage, const std::string& cause) {
  constexpr Duration kNoticeable = std::chrono::seconds(3);
  const std::string text = sessions_.cluster().nodes[node.value].name +
                           ": its connection was lost (" + cause + ") and taken up again after " +
                           duration_text(outage);
  if (outage > kNoticeable || options_.verbosity > 0) return note(text);
  if (events_) events_->note("notice", text, wall_now());
}

/// The connection is being made again already. Whether it matters, people want to know before it is
/// too late for them to do something about it.
void RunEngine::node_silent(NodeIndex node, Duration silence) {
  const bool has_ranks = started_ && plan_ && node.value < plan_->nodes.size() &&
                         !plan_->nodes[node.value].ranks.empty();
  const Duration fence = options_.spec.timeouts.fence_after;
  std::string text = sessions_.cluster().nodes[node.value].name + " has not answered for " +
                     duration_text(silence) + "; it is being connected again";
  if (has_ranks && silence < fence)
    text += ", and its ranks go on until " + wording::duration(fence) + " have passed";
  note(text);
}

void RunEngine::output_ended(NodeIndex node, const wire::OutputEnd& end) {
  if (!runs_on(end.rank, node)) return;
  collector_.end(node, end);
  router_.end(end);
  if (end.lost > 0) lost_output_.push_back(end);
}

}  // namespace dlaunch
