#include "launch/run_engine.h"

#include <algorithm>
#include <csignal>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/front_link.h"
#include "launch/start_message.h"
#include "log/diagnostics.h"
#include "os/clock.h"
#include "os/signals.h"
#include "report/error_file.h"
#include "report/plan_json.h"
#include "report/summary.h"

namespace dlaunch {

namespace {

constexpr Duration kConsoleStall = std::chrono::seconds(5);
constexpr Duration kGoodbye = std::chrono::seconds(2);

UniqueFd open_engine_signals() {
  auto fd = open_signal_fd({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  return fd ? std::move(*fd) : UniqueFd();
}

}  // namespace

RunEngine::RunEngine(const RunOptions& options, LocalStart local, UniqueFd front_link)
    : options_(options),
      began_(monotonic_now()),
      console_(STDOUT_FILENO, STDERR_FILENO),
      sessions_(loop_, options.spec, std::move(local),
                {[this](Event event) { push(std::move(event)); },
                 [this](const wire::OutputData& data) { show(data); },
                 [this](const wire::OutputEnd& end) { output_ended(end); },
                 [this](const wire::StdinTaken& taken) { stdin_taken(taken); },
                 [this](const std::string& text) { note(text); }}),
      router_(loop_, console_,
              [this](const wire::OutputCredit& credit) {
                if (plan_) sessions_.send(plan_->ranks[credit.rank.value].node, credit);
              }),
      front_(loop_, std::move(front_link)),
      signals_(loop_, open_engine_signals()) {
  diagnostics::set_verbosity(options.verbosity);
  if (options.verbosity > 0) {
    diagnostics::set_output(
        [this](std::string_view line) { console_.write(Stream::err, std::string(line)); });
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
  const std::string inside = options_.current_folder + '/';
  shown_path_ = folder_->path();
  if (shown_path_.starts_with(inside)) shown_path_.erase(0, inside.size());
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

WallTime RunEngine::wall_time() const {
  return wall_now();
}

Result<Event> RunEngine::wait(std::optional<MonotonicTime> deadline) {
  while (queue_.empty()) {
    if (deadline && monotonic_now() >= *deadline) return event::Tick{};
    loop_.run_one(deadline);
  }
  Event event = std::move(queue_.front());
  queue_.pop_front();
  if (events_) events_->add(event, wall_now());
  if (options_.verbosity > 0) explain(event);
  return event;
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
                      std::to_string(node.facts.gpus.size()) + " GPUs, Linux " + node.facts.kernel);
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
  if (const auto* started = std::get_if<event::RankStarted>(&event)) router_.expect(started->rank);
  if (const auto* lost = std::get_if<event::NodeLost>(&event)) node_lost(lost->node);
  queue_.push_back(std::move(event));
}

void RunEngine::node_lost(NodeIndex node) {
  if (!plan_ || !started_) return;
  for (const Rank rank : plan_->nodes[node.value].ranks) router_.give_up(rank);
}

void RunEngine::begin(const action::MakePlan& make) {
  PlanContext context;
  context.run_id = folder_->id();
  context.attempt = make.attempt;
  context.launcher_env = options_.environment;
  context.current_folder = options_.current_folder;
  context.run_folder = folder_->path();
  auto plan = make_plan(options_.spec, sessions_.cluster(), context);
  if (!plan) return push(event::PlanFailed{plan.error()});
  accept_plan(std::move(*plan));
}

void RunEngine::accept_plan(LaunchPlan plan) {
  event::PlanMade made{plan.attempt, {}};
  std::vector<std::string> labels;
  for (const RankPlan& rank : plan.ranks) {
    made.node_of_rank.push_back(rank.node);
    labels.push_back(plan.nodes[rank.node.value].name + ':' + std::to_string(rank.rank.value));
  }
  using Prefix = Logs::Prefix;
  const Prefix wanted = options_.spec.logs.prefix;
  ConsoleOptions console;
  console.prefix =
      wanted == Prefix::always || (wanted == Prefix::automatic && plan.ranks.size() > 1);
  console.colour = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 &&
                   !options_.environment.contains("NO_COLOR");
  router_.begin(plan.attempt, console, std::move(labels),
                options_.spec.logs.console != Logs::Console::none);
  if (plan.ranks.size() > 1 && !options_.quiet) say(start_line(plan));
  for (const std::string& text : plan.notes) note(text);
  plan_ = std::move(plan);
  push(std::move(made));
}

void RunEngine::begin(const action::StartRanks& start) {
  StartSettings settings;
  settings.log_folder = attempt_folder_;
  settings.secrets = secret_environment(options_.spec, options_.environment);
  settings.stdin_for_rank0 = options_.spec.stdin_for == StdinFor::rank0;
  settings.output_credit = router_.first_credit();
  for (const wire::StartRanks& message : start_messages(*plan_, start.node, settings)) {
    sessions_.send(start.node, message);
  }
  if (started_) return;
  started_ = true;
  for (std::string& bytes : stdin_waiting_) forward_stdin(std::move(bytes));
  stdin_waiting_.clear();
  // While the agents start the ranks: nothing of this is needed for that.
  loop_.post([this] { write_plan_files(); });
}

void RunEngine::write_plan_files() {
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{"job.yaml", options_.job_text},
        std::pair<const char*, std::string>{"plan.json", plan_json(*plan_)}}) {
    if (const Status written = folder_->write(name, text); !written)
      say("dlaunch: note: " + written.error().message);
  }
}

void RunEngine::begin(const action::ReleaseNode& release) {
  if (router_.complete()) sessions_.release(release.node);  // else finish() does
}

void RunEngine::say(std::string line) {
  if (!line.ends_with('\n')) line += '\n';
  console_.write(Stream::err, std::move(line));
}

void RunEngine::show(const wire::OutputData& data) {
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
  if (events_) events_->note("notice", text, wall_now());
  if (!options_.quiet) say("dlaunch: note: " + text);
}

void RunEngine::output_ended(const wire::OutputEnd& end) {
  router_.end(end);
  if (end.lost == 0) return;
  // Lost output is a failure of ours, so it is said with -q too.
  say("dlaunch: the log of rank " + std::to_string(end.rank.value) +
      (end.stream == Stream::out ? " (stdout)" : " (stderr)") + " lacks its last " +
      std::to_string(end.lost) + " of " + std::to_string(end.size) + " bytes");
}

void RunEngine::watch_front() {
  front_.on_readable([this] { read_front(); });
}

void RunEngine::read_front() {
  char message[1 + kStdinChunk];
  const ssize_t n = ::recv(front_.get(), message, sizeof message, MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return push(event::FrontGone{});
  watch_front();
  if (n < 0) return;
  const std::string body(message + 1, static_cast<std::size_t>(n) - 1);
  switch (static_cast<FrontMessage>(message[0])) {
    case FrontMessage::signal:
      return push(event::CancelSignal{body.empty() ? 0 : body.front()});
    case FrontMessage::stdin_data:
    case FrontMessage::stdin_end:
      return started_ ? forward_stdin(body) : stdin_waiting_.push_back(body);
    case FrontMessage::stdin_more:
      break;
  }
}

void RunEngine::watch_signals() {
  signals_.on_readable([this] {
    while (const int number = read_signal(signals_.get())) push(event::CancelSignal{number});
    watch_signals();
  });
}

void RunEngine::forward_stdin(std::string bytes) {
  stdin_sent_ += bytes.size();
  sessions_.send(plan_->ranks.front().node, wire::StdinData{plan_->attempt, std::move(bytes)});
}

void RunEngine::stdin_taken(const wire::StdinTaken& taken) {
  if (taken.closed || taken.up_to < stdin_sent_) return;
  send_front_message(front_.get(), FrontMessage::stdin_more);
}

template <class Condition>
void RunEngine::run_until(Condition condition, Duration limit) {
  // The limit counts from the last progress of the console, not from the start.
  std::uint64_t progress = router_.progress();
  MonotonicTime end = monotonic_now() + limit;
  while (!condition() && monotonic_now() < end) {
    const auto step =
        std::min<MonotonicTime>(end, monotonic_now() + std::chrono::milliseconds(200));
    loop_.run_one(step);
    if (router_.progress() != progress) {
      progress = router_.progress();
      end = monotonic_now() + limit;
    }
  }
}

void RunEngine::bring_out_output() {
  run_until([this] { return router_.complete(); }, kConsoleStall);
  const bool stalled = !router_.complete();
  router_.flush_partial_lines();
  if (stalled) say("dlaunch: note: the console was too slow, all output is in " + shown_path_);
}

bool RunEngine::drain_console() {
  // As long as the console takes anything, it is waited for.
  while (console_.pending() > 0) {
    const std::size_t before = console_.pending();
    if (!console_.drain(kConsoleStall) && console_.pending() >= before) return false;
  }
  return true;
}

void RunEngine::part_from_agents() {
  run_until([this] { return sessions_.all_ended(); }, kGoodbye);
  sessions_.reap_processes();
}

std::string RunEngine::write_summary(const RunReport& report) {
  Evidence evidence;
  if (report.first) evidence = evidence_of(attempt_folder_, report.first->value);
  const SummaryInput input{plan_ ? &*plan_ : nullptr, report, shown_path_, std::move(evidence)};
  if (const Status written = folder_->write("summary.json", summary_json(input)); !written) {
    say("dlaunch: note: " + written.error().message);
  }
  if (const Status flushed = events_->flush(); !flushed)
    say("dlaunch: note: " + flushed.error().message);
  return summary_text(input);
}

void RunEngine::finish(const RunReport& report) {
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank) {
    if (report.ranks[rank].how == RankEnd::How::lost) router_.give_up(Rank(rank));
  }
  bring_out_output();
  sessions_.release_all();
  loop_.poll();  // the goodbyes are on their way while we write
  const std::string summary = write_summary(report);
  part_from_agents();
  const bool taken = drain_console();
  tell_if_stdout_broke();  // the last bytes may have been the first that nobody took
  if (report.cause != Cause::success || !options_.quiet) console_.write(Stream::err, summary);
  if (taken) drain_console();
}

void RunEngine::finish(const Error& error) {
  bring_out_output();
  sessions_.release_all();
  part_from_agents();
  say("dlaunch: " + error.message);
  drain_console();
}

}  // namespace dlaunch
