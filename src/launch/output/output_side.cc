#include "launch/output/output_side.h"

#include <algorithm>
#include <set>
#include <utility>

#include <unistd.h>

#include "launch/output/output_settings.h"
#include "os/terminal.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

// Time for the rest of an attempt's output on the console before the next one begins.
constexpr Duration kCatchUp = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kCatchUpStep{20};
constexpr Duration kGoodbye = std::chrono::seconds(2);
// A node whose heartbeats arrive, but which sends none of the requested output, is given up after
// this time.
constexpr Duration kCollectStall = std::chrono::seconds(10);
// A node that returns just before it would be given up has this long to answer.
constexpr Duration kAfterReturn = std::chrono::seconds(2);
constexpr std::chrono::seconds kTellCollecting{2};
// Limits for the remaining work: when the user cancels twice, and when the front is gone.
constexpr Duration kHurried = std::chrono::seconds(5);
constexpr Duration kAbandoned = std::chrono::seconds(30);
// Lines of the screen that the summary itself takes, and the minimum above it.
constexpr std::size_t kSummaryRows = 8;
constexpr std::size_t kLeastRows = 12;
constexpr std::size_t kScreenElsewhere = 40;  // lines, for a log without a terminal

constexpr std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

/// "the log files lack 1.2 MB of the output of rank 3 (stdout), which could not be stored in
/// runs/X". `ends`: of streams that lost something, at least one. `folder`: as shown to the user.
std::string lost_output_text(const std::vector<wire::OutputEnd>& ends, const std::string& folder) {
  std::uint64_t bytes = 0;
  std::set<Rank> ranks;
  for (const wire::OutputEnd& end : ends) {
    bytes += end.lost;
    ranks.insert(end.rank);
  }
  std::string whose = std::to_string(ranks.size()) + " ranks";
  if (ranks.size() == 1) whose = "rank " + std::to_string(ranks.begin()->value);
  if (ends.size() == 1) whose += ends.front().stream == Stream::out ? " (stdout)" : " (stderr)";
  return "the log files lack " + size_text(bytes) + " of the output of " + whose +
         ", which could not be stored in " + folder;
}

}  // namespace

OutputSide::OutputSide(EventLoop& loop, const RunOptions& options, Nodes& nodes, RunStore& store,
                       ConsoleWriter& console, OutputRouter& router, Screen& screen)
    : loop_(loop),
      options_(options),
      store_(store),
      console_(console),
      router_(router),
      screen_(screen),
      collector_(
          [&nodes](NodeId node, const wire::ToAgent& message) { nodes.send(node, message); }),
      catch_up_(loop) {}

void OutputSide::begin(const LaunchPlan& plan) {
  plan_ = &plan;
  started_ = false;
  begun_.assign(plan.ranks.size(), false);
  OutputRouter::Settings settings =
      output_settings(plan, options_.spec.logs, options_.environment,
                      store_.shown_path() + "/attempt-" + std::to_string(plan.attempt.value));
  if (options_.stdin_is_terminal) settings.prompts_of = stdin_rank(options_, plan);
  settings.holds_others = options_.spec.pty.has_value();
  if (options_.detach) follow_only(plan, settings);
  if (options_.plain) {
    settings.console.colour = false;
    settings.live.reset();
  }
  router_.begin(std::move(settings));
  collector_.begin(plan, store_.attempt_folder());
  collection_ended_ = false;
}

void OutputSide::start(StartSettings& settings) {
  settings.log_folder = store_.attempt_folder();
  settings.output_credit = router_.first_credit();
  settings.shown = router_.passing();
  started_ = true;
}

/// An agent reports on its own ranks only, whatever it sends.
bool OutputSide::runs_on(Rank rank, NodeId node) const {
  return plan_ != nullptr && rank.value < plan_->ranks.size() && plan_->node_of(rank) == node;
}

/// Only the first call for each rank counts. A rank's output may arrive before the supervisor was
/// told of its start.
void OutputSide::begin_rank(Rank rank) {
  if (begun_[rank.value]) return;
  begun_[rank.value] = true;
  router_.expect(rank);
  collector_.rank_started(rank);
}

void OutputSide::on(NodeId node, const wire::OutputData& data) {
  if (!runs_on(data.rank, node) || data.attempt != plan_->attempt) return;
  begin_rank(data.rank);
  collector_.add(node, data);
  if (plan_->nodes[plan_->ranks[data.rank.value].node.value].is_remote) store_.note_time(data);
  router_.add(data);
  screen_.tell_if_stdout_broke();
}

void OutputSide::on(NodeId node, const wire::OutputEnd& end) {
  if (!runs_on(end.rank, node) || end.attempt != plan_->attempt) return;
  begin_rank(end.rank);
  collector_.end(node, end);
  router_.end(end);
  if (end.lost > 0) lost_output_.push_back(end);
}

void OutputSide::on(NodeId node, const wire::FetchedOutput& fetched) {
  collector_.fetched(node, fetched);
}

void OutputSide::tell(const Event& event) {
  const auto is_current = [this](const auto& one) {
    return plan_ != nullptr && one.attempt == plan_->attempt &&
           one.rank.value < plan_->ranks.size();
  };
  if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    if (is_current(*started)) begin_rank(started->rank);
  } else if (const auto* exited = std::get_if<event::RankExited>(&event)) {
    if (is_current(*exited) && !exited->status.ok()) collector_.rank_failed(exited->rank);
  } else if (const auto* empty = std::get_if<event::NodeEmpty>(&event)) {
    collector_.node_empty(empty->node, empty->attempt);
  } else if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
    lose_node(*lost);
  } else if (std::holds_alternative<event::FrontGone>(event)) {
    front_gone_ = true;
    if (finishing_) finish_within(kAbandoned);
  } else if (std::holds_alternative<event::CancelSignal>(event) && finishing_) {
    if (++cancels_ > 1) finish_within(kHurried);
  }
}

void OutputSide::lose_node(const event::NodeLost& lost) {
  const auto planned = plan_ != nullptr ? plan_->find(lost.node) : std::nullopt;
  if (planned) {
    for (const Rank rank : plan_->nodes[planned->value].ranks) {
      // An agent may be killed between the start of a rank and its report.
      if (started_) begin_rank(rank);
      router_.give_up(rank);
    }
  }
  collector_.node_lost(lost.node, lost.end_was_heard);
}

void OutputSide::when_out(std::function<void()> ask) {
  questions_.push_back(std::move(ask));
  if (questions_.size() == 1) wait_for_console(monotonic_now() + kCatchUp);
}

/// Usually the output has arrived during the back-off.
void OutputSide::wait_for_console(MonotonicTime give_up_at) {
  if (!router_.complete() && monotonic_now() < give_up_at)
    return catch_up_.after(kCatchUpStep, [this, give_up_at] { wait_for_console(give_up_at); });
  if (!router_.complete()) {
    router_.cut_off();
    screen_.note("the console was too slow for this attempt's output; all of it is in " +
                 store_.attempt_folder());
  }
  wait_for_nodes(collector_.progress(), monotonic_now() + node_stall());
}

/// Each byte that arrives postpones `give_up_at`.
void OutputSide::wait_for_nodes(std::uint64_t progress, MonotonicTime give_up_at) {
  collector_.fetch_rest();
  if (!collector_.complete() && monotonic_now() < give_up_at) {
    return catch_up_.after(kCatchUpStep, [this, progress, give_up_at] {
      const std::uint64_t now = collector_.progress();
      wait_for_nodes(now, now == progress ? give_up_at : monotonic_now() + node_stall());
    });
  }
  end_collection();
  for (const auto& ask : std::exchange(questions_, {})) ask();
}

/// How long output from a node that is not lost may be missing: the node may be reconnecting.
Duration OutputSide::node_stall() const {
  return std::max(kCollectStall, options_.spec.timeouts.lost_after + kAfterReturn);
}

bool OutputSide::is_overdue() const {
  return due_ && monotonic_now() >= *due_;
}

void OutputSide::finish_within(Duration limit) {
  const MonotonicTime due = monotonic_now() + limit;
  due_ = std::min(due_.value_or(due), due);
}

void OutputSide::allow(Duration limit) {
  if (due_) due_ = monotonic_now() + limit;
}

void OutputSide::finish(const std::vector<Rank>& lost, std::optional<Duration> within) {
  finishing_ = true;
  if (within) finish_within(*within);
  if (front_gone_) finish_within(kAbandoned);
  // No next attempt begins.
  catch_up_.cancel();
  questions_.clear();
  for (const Rank rank : lost) router_.give_up(rank);
  bring_out();
  collect();
}

void OutputSide::bring_out() {
  const auto complete = [this] { return router_.complete(); };
  run_until(complete, kConsoleStall);
  const bool console_waits = console_.pending(Stream::out) + console_.pending(Stream::err) == 0;
  if (console_waits) run_until(complete, node_stall() - kConsoleStall);
  if (!router_.complete()) give_up_stalled_console();
  router_.flush_partial_lines();
}

/// Fetches however much there is, as long as it arrives and the user does not cancel.
void OutputSide::collect() {
  collector_.fetch_rest();
  const MonotonicTime tell_at = monotonic_now() + kTellCollecting;
  bool told = options_.quiet;
  const auto done = [&] {
    if (!told && monotonic_now() >= tell_at) {
      told = true;
      screen_.say("dlaunch: fetching the rest of the output; Ctrl-C leaves it on the nodes");
    }
    return collector_.complete() || cancels_ > 0;
  };
  run_until(done, node_stall());
  end_collection();
}

void OutputSide::end_collection() {
  if (std::exchange(collection_ended_, true)) return;
  collector_.give_up();
  tell_lost_output();
  store_.end_output();
  if (!collector_.write_error().empty()) screen_.say("dlaunch: " + collector_.write_error());
  const auto has_all_known = [this](Rank rank, wire::OutputPart part) {
    return router_.has_all_known(rank, part == wire::OutputPart::out ? Stream::out : Stream::err);
  };
  for (const std::string& line : collector_.missing(has_all_known)) {
    store_.note("notice", line);
    screen_.say("dlaunch: " + line);
  }
}

/// Call after collecting: a node that could not store part of the output may have sent it to the
/// launcher.
void OutputSide::tell_lost_output() {
  for (wire::OutputEnd& end : lost_output_) {
    const auto part = end.stream == Stream::out ? wire::OutputPart::out : wire::OutputPart::err;
    end.lost = collector_.lost_of(end.rank, part).value_or(end.lost);
  }
  std::erase_if(lost_output_, [](const wire::OutputEnd& end) { return end.lost == 0; });
  if (lost_output_.empty()) return;
  // Lost output is our failure, so it is reported with -q too, but once for all ranks.
  screen_.say("dlaunch: " + lost_output_text(lost_output_, store_.shown_path()));
  lost_output_.clear();
}

/// Stops waiting for a console that has accepted nothing for 5 s; says how much was skipped.
void OutputSide::give_up_stalled_console() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (console_.pending(stream) == 0) continue;
    given_up_[index_of(stream)] = true;
    if (console_.is_one_file()) given_up_ = {true, true};
    router_.skip_rest(stream);
  }
  // The agents report at once how much there is; part of it may already be in transit.
  run_until([this] { return router_.complete(); }, kGoodbye);
  const std::string skipped = router_.skipped_text();
  if (skipped.empty()) return;
  const std::string why =
      is_overdue() ? "the console is too slow" : "the console has accepted nothing for 5 s";
  const std::string text = why + ": " + skipped;
  store_.note("notice", text);
  screen_.say("dlaunch: note: " + text);
}

void OutputSide::drain() {
  // Waits for the console as long as it takes anything.
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (given_up_[index_of(stream)]) continue;
    std::size_t before = console_.pending(stream);
    while (before > 0 && !console_.drain(stream, kConsoleStall)) {
      if (finishing_) loop_.poll();  // signals, and the front's question whether we are alive
      const std::size_t now = console_.pending(stream);
      if (now >= before) {
        give_up_stalled_console();
        break;
      }
      before = now;
      if (!is_overdue()) continue;
      given_up_[index_of(stream)] = true;
      break;
    }
  }
}

void OutputSide::console_moved() {
  (void)console_.targets_changed();
  given_up_ = {false, false};
}

bool OutputSide::is_on_screen(const std::vector<Rank>& ranks, Stream stream,
                              std::size_t lines) const {
  if (given_up_[index_of(Stream::err)]) return false;
  std::size_t window = kScreenElsewhere;
  if (const auto size = terminal_size(STDERR_FILENO); size && size->rows > 0)
    window = std::max(size->rows, kSummaryRows + kLeastRows) - kSummaryRows;
  return std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) {
    return router_.recent_lines(rank, stream, window) >= lines;
  });
}

}  // namespace dlaunch
