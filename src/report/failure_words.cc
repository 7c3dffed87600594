#include "report/failure_words.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <optional>

#include "jobfile/shell_quote.h"
#include "model/rank_list.h"
#include "model/signal_names.h"
#include "model/time.h"
#include "report/culprit.h"
#include "report/known_causes.h"
#include "report/rank_groups.h"
#include "supervise/wording.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// The time from the start of the first rank to the end of the rank that failed first. If that end
/// is unknown, the time of the whole run, which includes the time that the other ranks took to
/// stop.
MonotonicTime time_of_failure(const RunReport& report) {
  const RankEnd* first = report.end_of_first();
  if (first == nullptr || !first->ended) return report.elapsed;
  std::optional<WallTime> start;
  for (const RankEnd& end : report.ranks) {
    if (end.started) start = std::min(start.value_or(*end.started), *end.started);
  }
  return start ? std::max(*first->ended - *start, MonotonicTime{0}) : report.elapsed;
}

/// "was killed by SIGSEGV" becomes "were killed by SIGSEGV".
std::string plural(std::string how) {
  if (how.starts_with("was ")) how.replace(0, 3, "were");
  return how;
}

/// The command line as it was meant, if `program` is one word that holds several. Its options may
/// be such words too ("--lr 0.1"); other words with a space are quoted.
std::string as_several_words(const std::string& program, const std::vector<CommandPlan>& commands) {
  std::string line = program;
  for (const CommandPlan& command : commands) {
    if (command.argv.empty() || command.argv.front() != program) continue;
    for (auto word = command.argv.begin() + 1; word != command.argv.end(); ++word) {
      const std::size_t at = word->find_first_of(" =");
      const bool is_several =
          word->starts_with('-') && at != std::string::npos && (*word)[at] == ' ';
      line += ' ' + (is_several ? *word : jobfile::shell_quote(*word));
    }
    break;
  }
  return line;
}

/// How ranks that failed alike ended. dlaunch's signal may have reached some of them while they
/// were failing, so their exit code is not their own; the code of the other ranks then applies to
/// all.
std::string common_end(const std::vector<Rank>& ranks, const RunReport& report) {
  const ExitStatus* common = nullptr;
  bool all_by_themselves = true;
  for (const Rank rank : ranks) {
    const RankEnd& end = report.ranks[rank.value];
    const bool by_itself = end.how == RankEnd::How::exited;
    all_by_themselves = all_by_themselves && by_itself;
    if (!by_itself && end.status.signaled) continue;
    if (common != nullptr && common->code() != end.status.code()) return "failed";
    if (common == nullptr) common = &end.status;
  }
  if (common == nullptr) return "failed";
  if (all_by_themselves) return describe(*common);
  return "failed (" +
         (common->signaled ? signal_name(common->value) : "code " + std::to_string(common->value)) +
         ')';
}

}  // namespace

std::string script_advice(const StartFailure& failure, const std::vector<CommandPlan>& commands) {
  if (failure.step != StartFailure::Step::execute) return {};
  const std::string file = plain_line(failure.path);
  if (failure.error_number == ENOENT && file.find(' ') != std::string::npos) {
    const std::string line = plain_line(as_several_words(failure.path, commands));
    return '"' + file +
           "\" is one word with a space in it; pass the command as several words: -- " + line +
           ", or in the job file command: " + line;
  }
  const bool is_python = file.ends_with(".py");
  if (!is_python && !file.ends_with(".sh")) return {};
  const std::string by_interpreter = (is_python ? "python3 " : "sh ") + file;
  switch (failure.error_number) {
    case ENOENT:  // not found in PATH; execvp(3) does not search the current folder
      if (failure.search_path.empty()) return {};
      return "if it is in the workdir: ./" + file + ", or " + by_interpreter;
    case EACCES:
      return "try: " + by_interpreter + ", or chmod +x " + file;
    case ENOEXEC:
      return "try: " + by_interpreter;
    default:
      return {};
  }
}

std::string one_line(std::string_view text) {
  return plain_line(text.substr(0, text.find('\n')));
}

std::string FailureWords::headline() const {
  // In a run with restarts, the user wants to know the time of the whole run.
  const bool by_rank = outcome_.first.has_value() && report_.attempt.value == 0;
  std::string line =
      "FAILED after " + duration_text(by_rank ? time_of_failure(report_) : report_.elapsed) + ": ";
  switch (outcome_.cause) {
    case Cause::node_lost:
      line += lost_node();
      break;
    case Cause::time_limit:
      line += "reached the time limit" +
              (outcome_.limit ? " of " + wording::duration(*outcome_.limit) : "") +
              " (timeouts.run)";
      break;
    case Cause::port_taken:
      line += taken_port() + "; " + first_failure();
      break;
    case Cause::stragglers:
      line += stragglers();
      break;
    case Cause::hang:
    case Cause::preempted:
    case Cause::starter:
      line += one_line(outcome_.detail);
      break;
    case Cause::internal:
      line += "internal error: " + one_line(outcome_.detail);
      break;
    default:
      line += first_failure();
      break;
  }
  if (restarts() > 0) line += ", after " + counted(restarts(), "restart");
  return line;
}

std::string FailureWords::left_early() const {
  const auto& left = outcome_.left_early;
  const std::string who_left = left.size() == 1 ? who(left.front()) : "ranks " + rank_ranges(left);
  const std::string collective = collective_of(in_.evidence);
  return who_left + " exited with code 0 while others were still " +
         (collective.empty() ? "running" : "in " + collective);
}

std::string FailureWords::failed_alike() const {
  std::vector<Rank> ranks = outcome_.alike;
  ranks.push_back(*outcome_.first);
  std::sort(ranks.begin(), ranks.end());
  const bool all = ranks.size() == report_.ranks.size();
  const std::string how = common_end(ranks, report_);
  if (all && ranks.size() == 2) return "both ranks " + plural(how);
  if (all) return "all " + counted(ranks.size(), "rank") + ' ' + plural(how);
  return "ranks " + rank_ranges(ranks) + " of " + std::to_string(report_.ranks.size()) + ' ' +
         plural(how) + " in the same way";
}

std::string FailureWords::first_failure() const {
  const RankEnd* end = report_.end_of_first();
  if (end == nullptr) return outcome_.detail.empty() ? "a rank failed" : one_line(outcome_.detail);
  if (!outcome_.left_early.empty()) return left_early();
  const std::string ended =
      !outcome_.alike.empty() && outcome_.perhaps_first.empty() ? failed_alike() : what_ended();
  return suspects(in_).empty() ? ended : "cause not known; " + ended;
}

std::string FailureWords::what_ended() const {
  const RankEnd* end = report_.end_of_first();
  std::string text = who(*outcome_.first) + ' ';
  const bool was_stopped = end->how == RankEnd::How::stopped || end->how == RankEnd::How::killed;
  if (was_stopped && end->status.signaled) {
    // The signal came from dlaunch. Other ranks had ended first, because they had lost this one.
    text += "failed";
  } else {
    text += end->start_failure ? describe(*end->start_failure) : describe(end->status);
  }
  if (!suspects(in_).empty()) return text + ", having lost another rank";
  if (outcome_.perhaps_first.empty()) {
    if (report_.ranks.size() > 1) text += ", first of " + std::to_string(report_.ranks.size());
    return text;
  }
  std::vector<Rank> ties = outcome_.perhaps_first;
  ties.push_back(*outcome_.first);
  std::sort(ties.begin(), ties.end());
  const std::string list =
      ties.size() == 2 ? std::to_string(ties[0].value) + " and " + std::to_string(ties[1].value)
                       : rank_ranges(ties);
  return text + ", cannot tell which of ranks " + list + " was first";
}

std::string FailureWords::lost_line(const LostNode& lost) const {
  const std::string name = wording::node(in_.node_names, lost.node);
  return plain_line(name + ": " + lost.what + last_heard(lost));
}

std::vector<std::string> FailureWords::earlier_attempts() const {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> lines;
  const auto& all = report_.earlier;
  const std::size_t hidden = all.size() > kShown ? all.size() - (kShown - 1) : 0;
  if (hidden > 0) lines.push_back("the first " + counted(hidden, "attempt") + ": see summary.json");
  for (std::size_t i = hidden; i < all.size(); ++i) {
    std::string line = "attempt " + std::to_string(all[i].attempt.value) + ": " +
                       describe_attempt(all[i]) + " after " + duration_text(all[i].ran);
    if (all[i].again) line += "; up again in " + duration_text(*all[i].again);
    if (all[i].steps_lost.value_or(0) > 0)
      line += ", " + counted(*all[i].steps_lost, "step") + " redone";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string FailureWords::spent() const {
  const std::int64_t whole = report_.elapsed.count();
  if (report_.earlier.empty() || whole <= 0) return "";
  std::vector<std::pair<MonotonicTime, std::string>> lines;
  MonotonicTime other{0};
  for (std::size_t i = 0; i < report_.spent.size(); ++i) {
    const MonotonicTime time = report_.spent[i];
    const auto percent =
        std::lround(100 * static_cast<double>(time.count()) / static_cast<double>(whole));
    if (percent < 1) {
      other += time;
    } else {
      lines.emplace_back(time, duration_text(time) + ' ' + std::string(kSpentWords[i].what) + " (" +
                                   std::to_string(percent) + " %)");
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [time, line] : lines) text += (text.empty() ? "" : ", ") + line;
  if (other >= std::chrono::milliseconds(1)) text += ", " + duration_text(other) + " other";
  return text;
}

std::size_t FailureWords::restarts() const {
  return report_.attempt.value - (before_ranks() ? 1U : 0U);
}

bool FailureWords::in_back_off() const {
  return !report_.earlier.empty() && report_.earlier.back().attempt == report_.attempt;
}

bool FailureWords::before_ranks() const {
  return !report_.earlier.empty() && !in_back_off() && report_.ranks.empty();
}

std::string FailureWords::next_attempt(const FailedAttempt& failed) {
  if (failed.restart == 0) return "attempt " + std::to_string(failed.attempt.value + 1);
  return "restart " + std::to_string(failed.restart) + " of " + std::to_string(failed.restarts_max);
}

std::string FailureWords::who(Rank rank) const {
  return "rank " + std::to_string(rank.value) + on_node(rank);
}

std::string FailureWords::on_node(Rank rank) const {
  if (in_.plan == nullptr || rank.value >= in_.plan->ranks.size()) return "";
  const std::uint32_t node = in_.plan->ranks[rank.value].node.value;
  return node < in_.plan->nodes.size() ? " on " + in_.plan->nodes[node].name : "";
}

std::string FailureWords::last_heard(const LostNode& lost) {
  if (!lost.heard_at) return "";
  std::string time = time_text(*lost.heard_at);
  time.replace(time.find('.'), std::string::npos, "Z");
  return " (last heard " + time + ')';
}

std::string FailureWords::taken_port() const {
  return taken_port_text(outcome_.port.value_or(TakenPort{}),
                         outcome_.first ? on_node(*outcome_.first) : "");
}

std::string FailureWords::taken_port_text(const TakenPort& port, const std::string& where) {
  return "port " + std::to_string(port.port) + where + " was taken by " +
         (port.holder.empty() ? "another process" : plain_line(port.holder));
}

std::string FailureWords::stragglers() const {
  const bool one = outcome_.stragglers.size() == 1;
  return (one ? "rank " : "ranks ") + rank_ranges(outcome_.stragglers) + (one ? " was" : " were") +
         " still running after others had succeeded (timeouts.stragglers_after_success" +
         (outcome_.limit ? ": " + wording::duration(*outcome_.limit) : "") + ')';
}

std::string FailureWords::lost_names(const std::vector<LostNode>& lost) const {
  std::string text = wording::node(in_.node_names, lost.front().node);
  if (lost.size() > 1) text += " and " + counted(lost.size() - 1, "other node");
  return text + (lost.size() > 1 ? " were lost" : " was lost");
}

std::string FailureWords::describe_attempt(const FailedAttempt& attempt) const {
  const Outcome& outcome = attempt.outcome;
  std::string text = outcome.port ? taken_port_text(*outcome.port, "") + "; " : "";
  if (!outcome.lost_nodes.empty()) return text + lost_names(outcome.lost_nodes);
  if (outcome.cause == Cause::starter) return text + name_of(outcome.cause) + " failed";
  if (outcome.cause == Cause::hang || outcome.cause == Cause::preempted)
    return text + one_line(outcome.detail);
  if (!outcome.first || !attempt.end) return text + name_of(outcome.cause);
  return text + "rank " + std::to_string(outcome.first->value) + ' ' +
         describe(attempt.end->status);
}

std::string FailureWords::lost_node() const {
  const std::string detail = one_line(outcome_.detail);
  const auto& lost = outcome_.lost_nodes;
  const auto known =
      !lost.empty() && in_.plan != nullptr ? in_.plan->find(lost.front().node) : std::nullopt;
  const std::string name = known ? in_.plan->nodes[known->value].name : std::string("a node");
  const std::string heard = lost.empty() ? "" : last_heard(lost.front());
  if (detail.empty()) return name + " was lost" + heard;
  return (known && detail.starts_with(name) ? detail : name + " was lost: " + detail) + heard;
}

std::string FailureWords::ranks_to_read() const {
  const std::vector<Rank> ranks = suspects(in_);
  if (ranks.empty()) return std::to_string(outcome_.first->value);
  std::string list = rank_ranges(ranks);
  list.erase(std::min(list.find(" and "), list.size()));
  std::erase(list, ' ');
  return list;
}

}  // namespace dlaunch
