// The end of a run: what the console still takes, the agents' goodbyes, the summary.
#include <algorithm>
#include <utility>

#include "launch/engine/run_engine.h"
#include "launch/output/lost_output.h"
#include "os/clock.h"
#include "os/write_all.h"
#include "report/summary.h"

namespace dlaunch {

namespace {

constexpr Duration kGoodbye = std::chrono::seconds(2);
// Why it has sent a signal. It was asked when that came, and may kill us soon.
constexpr Duration kSlurmAnswers = std::chrono::seconds(2);
// A node that sends nothing of what was asked for, while its heartbeats come.
constexpr Duration kCollectStall = std::chrono::seconds(10);
// For its answer, when it is back just before it would be given up.
constexpr Duration kAfterReturn = std::chrono::seconds(2);
constexpr std::chrono::seconds kTellCollecting{2};
// Limit for all that is left, when the user insists on the end, or no front is there to wait.
constexpr Duration kHurried = std::chrono::seconds(5);
constexpr Duration kAbandoned = std::chrono::seconds(30);

}  // namespace

template <class Condition>
void RunEngine::run_until(Condition condition, Duration limit) {
  // The limit counts from the last progress of console and nodes, not from the start.
  const auto made = [this] { return router_.progress() + collector_.progress(); };
  std::uint64_t progress = made();
  MonotonicTime end = monotonic_now() + limit;
  while (!condition() && monotonic_now() < end && !is_overdue()) {
    const auto step =
        std::min<MonotonicTime>(end, monotonic_now() + std::chrono::milliseconds(200));
    (void)write_due_events();
    loop_.run_one(step);
    if (made() != progress) {
      progress = made();
      end = monotonic_now() + limit;
    }
  }
}

bool RunEngine::is_overdue() const {
  return finish_due_ && monotonic_now() >= *finish_due_;
}

/// When the ranks are gone and only output is missing, the supervisor sees no signals: the first
/// signal leaves on the nodes what is there, a second one whatever does not come at once.
void RunEngine::hurry(const Event& event) {
  const bool cancelled = std::holds_alternative<event::CancelSignal>(event);
  if (std::holds_alternative<event::FrontGone>(event)) {
    front_gone_ = true;
    if (finishing_) finish_by(kAbandoned);
  } else if (cancelled && finishing_) {
    cancelled_while_collecting_ = true;
    if (std::exchange(cancelled_in_finish_, true)) finish_by(kHurried);
  }
}

void RunEngine::finish_by(Duration limit) {
  const MonotonicTime due = monotonic_now() + limit;
  finish_due_ = std::min(finish_due_.value_or(due), due);
}

/// Call after collecting: a node that could not store part of the output may have sent it here.
void RunEngine::tell_lost_output() {
  for (wire::OutputEnd& end : lost_output_) {
    const auto part = end.stream == Stream::out ? wire::OutputPart::out : wire::OutputPart::err;
    end.lost = collector_.lost_of(end.rank, part).value_or(end.lost);
  }
  std::erase_if(lost_output_, [](const wire::OutputEnd& end) { return end.lost == 0; });
  if (lost_output_.empty()) return;
  // Lost output is a failure of ours, so it is said with -q too; once, however many ranks lost
  // some.
  say("dlaunch: " + lost_output_text(lost_output_, shown_path_));
  lost_output_.clear();
}

/// How long output may not come from a node that is not lost: its connection may be on its way
/// back.
Duration RunEngine::node_stall() const {
  return std::max(kCollectStall, options_.spec.timeouts.lost_after + kAfterReturn);
}

void RunEngine::bring_out_output() {
  const auto complete = [this] { return router_.complete(); };
  run_until(complete, kConsoleStall);
  const bool console_waits = console_.pending(Stream::out) + console_.pending(Stream::err) == 0;
  if (console_waits) run_until(complete, node_stall() - kConsoleStall);
  if (!router_.complete()) give_up_stalled_console();
  router_.flush_partial_lines();
}

void RunEngine::collect_after(const Event& event) {
  if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    if (plan_ && started->attempt == plan_->attempt) collector_.rank_started(started->rank);
  } else if (const auto* exited = std::get_if<event::RankExited>(&event)) {
    const bool current = plan_ && exited->attempt == plan_->attempt;
    if (current && !exited->status.ok()) collector_.rank_failed(exited->rank);
  } else if (const auto* empty = std::get_if<event::NodeEmpty>(&event)) {
    collector_.node_empty(empty->node, empty->attempt);
  } else if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
    // An agent may be killed between the start of a rank and the word of it.
    if (plan_ && started_ && lost->node.value < plan_->nodes.size()) {
      for (const Rank rank : plan_->nodes[lost->node.value].ranks) collector_.rank_started(rank);
    }
    collector_.node_lost(lost->node, lost->end_was_heard);
  } else {
    hurry(event);
  }
}

/// However much there is to fetch: as long as it comes, and nobody has had enough of it.
void RunEngine::collect_output() {
  collector_.fetch_rest();
  const MonotonicTime tell_at = monotonic_now() + kTellCollecting;
  bool told = options_.quiet;
  const auto done = [&] {
    if (!told && monotonic_now() >= tell_at) {
      told = true;
      say("dlaunch: fetching the rest of the output; Ctrl-C leaves it on the nodes");
    }
    return collector_.complete() || cancelled_while_collecting_;
  };
  run_until(done, node_stall());
  end_collection();
}

void RunEngine::end_collection() {
  if (std::exchange(collection_ended_, true)) return;
  collector_.give_up();
  tell_lost_output();
  write_times();
  if (!collector_.write_error().empty()) say("dlaunch: " + collector_.write_error());
  const auto has_all_known = [this](Rank rank, wire::OutputPart part) {
    return router_.has_all_known(rank, part == wire::OutputPart::out ? Stream::out : Stream::err);
  };
  for (const std::string& line : collector_.missing(has_all_known)) {
    if (events_) events_->note("notice", line, wall_now());
    say("dlaunch: " + line);
  }
}

void RunEngine::give_up_stalled_console() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (console_.pending(stream) == 0) continue;
    given_up_[stream == Stream::out ? 0 : 1] = true;
    if (console_.is_one_file()) given_up_ = {true, true};
    router_.skip_rest(stream);
  }
  // The agents say at once how much there is; a part of it may already be on its way here.
  run_until([this] { return router_.complete(); }, kGoodbye);
  const std::string skipped = router_.skipped_text();
  if (skipped.empty()) return;
  const std::string why =
      is_overdue() ? "the console is too slow" : "the console has taken nothing for 5 s";
  const std::string text = why + ": " + skipped;
  if (events_) events_->note("notice", text, wall_now());
  say("dlaunch: note: " + text);
}

void RunEngine::drain_console() {
  // As long as the console takes anything, it is waited for.
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (given_up_[stream == Stream::out ? 0 : 1]) continue;
    std::size_t before = console_.pending(stream);
    while (before > 0 && !console_.drain(stream, kConsoleStall)) {
      if (finishing_) loop_.poll();  // signals, and the front's question whether we are there
      const std::size_t now = console_.pending(stream);
      if (now >= before) {
        give_up_stalled_console();
        break;
      }
      before = now;
      if (!is_overdue()) continue;
      given_up_[stream == Stream::out ? 0 : 1] = true;
      break;
    }
  }
}

void RunEngine::part_from_agents() {
  if (finish_due_) finish_due_ = monotonic_now() + kGoodbye;
  run_until([this] { return sessions_.all_ended() && listener_.has_ended(); }, kGoodbye);
  sessions_.reap_processes();
}

/// A next attempt that was about to begin: there is none, and no node is to be connected for it.
void RunEngine::drop_questions() {
  catch_up_.cancel();
  questions_.clear();
}

/// For the case that the supervisor cannot do it.
void RunEngine::kill_all_ranks() {
  if (!plan_) return;
  for (std::uint32_t i = 0; i < plan_->nodes.size(); ++i)
    sessions_.send(NodeIndex(i), wire::KillRanks{plan_->attempt, {}});
}

int RunEngine::finish(RunReport report) {
  finishing_ = true;
  if (front_gone_) finish_by(kAbandoned);
  drop_questions();
  close_prompts();
  planner_.cancel();
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank) {
    if (report.ranks[rank].how == RankEnd::How::lost) router_.give_up(Rank(rank));
  }
  bring_out_output();
  collect_output();
  sessions_.release_all();
  listener_.stop();
  run_until([this] { return !slurm_.is_asking(); }, kSlurmAnswers);
  loop_.poll();  // the goodbyes are on their way while we write
  const std::string summary = write_summary(report);
  part_from_agents();
  drain_console();
  tell_if_stdout_broke();  // the last bytes may have been the first that nobody took
  if (report.cause != Cause::success || !options_.quiet) console_.write(Stream::err, summary);
  if (std::string errors = hand_over_.agent_errors(); !errors.empty()) say(std::move(errors));
  drain_console();
  if (events_) (void)events_->flush();
  return report.exit_code;
}

void RunEngine::finish(const Error& error) {
  finishing_ = true;
  finish_by(kHurried);
  kill_all_ranks();
  drop_questions();
  close_prompts();
  planner_.cancel();
  bring_out_output();
  collect_output();
  sessions_.release_all();
  listener_.stop();
  part_from_agents();
  say("dlaunch: " + error.message);
  if (folder_) {  // else the run would look as if its launcher had been killed
    RunReport report;
    report.exit_code = error.exit_code;
    report.cause = Cause::internal;
    report.detail = error.message;
    report.elapsed = monotonic_now() - began_;
    SummaryInput input{plan_ ? &*plan_ : nullptr, report, shown_path_, {}};
    input.preflight = options_.preflight;
    input.slurm = slurm_part();
    write_summary_file(summary_json(input));
  }
  drain_console();
}

}  // namespace dlaunch
