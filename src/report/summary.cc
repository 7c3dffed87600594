#include "report/summary.h"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "jobfile/shell_quote.h"
#include "model/signal_names.h"
#include "report/checkpoints.h"
#include "report/failure_words.h"
#include "report/known_causes.h"
#include "report/own_messages.h"
#include "report/rank_groups.h"
#include "supervise/wording.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr std::size_t kScreen = 24;  // lines
constexpr std::string_view kName = "dlaunch: ";
constexpr std::string_view kBar = "    | ";           // before a line of a rank
constexpr std::string_view kUnderName = "         ";  // continues a statement

class Summary {
 public:
  explicit Summary(const SummaryInput& input)
      : in_(input), report_(input.report), outcome_(input.report.outcome), words_(input) {}

  std::string text() {
    switch (outcome_.cause) {
      case Cause::success:
        success();
        break;
      case Cause::not_collected:
        append_statement(outcome_.detail);
        success();
        break;
      case Cause::cancelled:
        cancelled();
        break;
      case Cause::cannot_execute:
        cannot_execute();
        break;
      case Cause::plan:
        append_statement(outcome_.detail);
        break;
      case Cause::node_lost:
        report_.ranks.empty() ? not_connected() : failure();
        break;
      case Cause::exit_code:
      case Cause::signal:
      case Cause::out_of_memory:
      case Cause::time_limit:
      case Cause::port_taken:
      case Cause::mpi:
      case Cause::starter:
      case Cause::stragglers:
      case Cause::hang:
      case Cause::preempted:
      case Cause::internal:
        failure();
        break;
    }
    return std::move(out_);
  }

 private:
  void wrap(std::string_view first, std::string_view rest, std::string_view text) {
    append_wrapped(out_, first, rest, text, in_.columns);
  }

  void success() {
    append_earlier_statements();
    for (const std::string& note : in_.notes) wrap(kName, kUnderName, "note: " + note);
    std::string line = "done in " + duration_text(report_.elapsed);
    append_comma(line, count_ends(report_));
    append_end(line);
  }

  void cancelled() {
    append_earlier_statements();
    if (const StallSeen* const stall = lasting_stall(in_.stalls, report_.attempt))
      wrap(kName, kUnderName, stall->verdict.headline);
    if (const std::string saved = saved_text(); !saved.empty()) wrap(kName, kUnderName, saved);
    std::string line = "stopped ";
    if (outcome_.signal == 0) {
      line += "because the process that started it is gone,";
    } else {
      line += "by " +
              (outcome_.signal == SIGINT ? std::string("Ctrl-C") : signal_name(outcome_.signal));
    }
    line += " after " + duration_text(report_.elapsed);
    if (!in_.slurm.said.empty()) line += " (" + plain_line(in_.slurm.said) + ')';
    if (words_.in_back_off() || words_.before_ranks()) {
      line += " while waiting for " + FailureWords::next_attempt(report_.earlier.back());
    } else {
      append_comma(line, count_ends(report_));
    }
    append_end(line);
  }

  /// What the last attempt has saved; the restarts have already reported earlier attempts. Empty:
  /// nothing is known.
  [[nodiscard]] std::string saved_text() const {
    const auto found = in_.checkpoints.find(report_.attempt);
    if (found == in_.checkpoints.end() || words_.in_back_off()) return "";
    const std::string text = checkpoint_text(found->second, in_.checkpoint_patterns);
    return found->second.latest ? text : "warning: " + text;
  }

  void append_earlier_statements() {
    for (const std::string& attempt : words_.earlier_attempts()) {
      wrap(kName, kUnderName, attempt);
    }
    if (const std::string spent = words_.spent(); !spent.empty())
      wrap(kName, kUnderName, "time: " + spent);
  }

  void append_end(std::string& line) {
    if (words_.restarts() > 0) line += " after " + counted(words_.restarts(), "restart");
    if (report_.leftovers > 0) {
      line += ", " + counted(report_.leftovers, "leftover process");
      if (report_.leftovers > 1) line.replace(line.size() - 1, 1, "es");
      line += " killed";
    }
    const std::string logs = in_.run_path.empty() ? "" : "logs in " + plain_line(in_.run_path);
    if (!logs.empty()) line += ',';
    wrap(kName, kUnderName, line);
    if (logs.empty()) return append_metrics();
    // The paths are never wrapped, so that they can be searched for.
    const std::size_t last = out_.size() - 1 - (out_.rfind('\n', out_.size() - 2) + 1);
    out_.pop_back();
    const bool fits = last + 1 + logs.size() <= in_.columns;
    out_ += fits ? " " : "\n" + std::string(kUnderName);
    out_.append(logs).append("\n");
    append_metrics();
  }

  /// Appends nothing if no rank has run.
  void append_metrics() {
    if (report_.ranks.empty()) return;
    for (const Metric& metric : in_.metrics) wrap(kName, kUnderName, metric_line(metric));
  }

  static void append_comma(std::string& line, const std::string& more) {
    if (!more.empty()) line += ", " + more;
  }

  /// Appends a text of several lines, such as an error message; the first line begins with
  /// "dlaunch: ".
  void append_statement(std::string_view text) {
    std::string_view name = kName;
    while (!text.empty()) {
      out_.append(name).append(plain_line(take_line(text))).append("\n");
      name = {};
    }
  }

  /// One line per host, even if there are many or they are long, so that they can be searched and
  /// copied.
  void not_connected() {
    const auto& lost = outcome_.lost_nodes;
    const std::string after = "FAILED after " + duration_text(report_.elapsed) + ": ";
    if (lost.size() <= 1) {
      append_statement(after + (lost.empty() ? "a node was lost" : words_.lost_line(lost.front())));
    } else {
      append_statement(after + std::to_string(lost.size()) + " of " +
                       counted(std::max(in_.node_names.size(), lost.size()), "node") +
                       " cannot be used");
      for (const LostNode& one : lost)
        out_.append(kUnderName).append(words_.lost_line(one)).append("\n");
    }
    if (report_.earlier.empty()) return append_connection_advice();
    append_earlier();
    append_return_advice();
    append_logs();
  }

  void append_connection_advice() {
    std::vector<HostTrouble> hosts;
    for (const LostNode& one : outcome_.lost_nodes)
      hosts.push_back({wording::node(in_.node_names, one.node), one.what});
    for (const std::string& line : connection_advice(hosts))
      out_.append(kUnderName).append(line).append("\n");
  }

  /// Advice if a restart has waited in vain for nodes.
  void append_return_advice() {
    const bool several = outcome_.lost_nodes.size() > 1;
    wrap("  try     ", "          ",
         several ? "bring them back, or leave them out of the hosts, then run the job again"
                 : "bring it back, or leave it out of the hosts, then run the job again");
  }

  void cannot_execute() {
    const RankEnd* end = report_.end_of_first();
    if (end == nullptr || !end->start_failure) return failure();
    const StartFailure& failure = *end->start_failure;
    append_statement(words_.who(*outcome_.first) + ": " + describe(failure));
    if (!failure.search_path.empty()) {
      out_.append(kUnderName).append("PATH").append(words_.on_node(*outcome_.first));
      out_.append(": ").append(plain_line(failure.search_path)).append("\n");
    }
    const std::string advice = script_advice(
        failure, in_.plan == nullptr ? std::vector<CommandPlan>() : in_.plan->commands);
    if (!advice.empty()) out_.append(kUnderName).append(advice).append("\n");
    const bool ran = std::any_of(report_.ranks.begin(), report_.ranks.end(),
                                 [](const RankEnd& other) { return other.started.has_value(); });
    if (!ran) return;
    out_ += '\n';
    append_others();
    append_logs();
  }

  void failure() {
    append_why();
    append_others();
    append_earlier();
    if (const std::string saved = saved_text(); !saved.empty())
      wrap("  ckpt    ", "          ", saved);
    append_advice();
    append_logs();
    const std::string end = std::exchange(out_, {});
    wrap(kName, kUnderName, words_.headline());
    out_ += '\n';
    append_stall();
    append_evidence(count_lines(end));
    out_ += end;
  }

  static std::size_t count_lines(std::string_view text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  void append_earlier() {
    const std::vector<std::string> lines = words_.earlier_attempts();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      wrap(i == 0 ? "  earlier " : "          ", "          ", lines[i]);
    }
    if (const std::string spent = words_.spent(); !spent.empty())
      wrap("  time    ", "          ", spent);
  }

  /// Where the ranks were when the job no longer made progress.
  void append_stall() {
    const StallSeen* const stall = lasting_stall(in_.stalls, report_.attempt);
    if (stall == nullptr) return;
    wrap("  stacks  ", "          ", plain_line(stall->verdict.headline));
    for (const std::string& line : stall->verdict.lines)
      wrap("          ", "            ", plain_line(line));
    out_ += '\n';
  }

  /// `below`: the number of lines after the evidence, which reduce the room for quoted lines.
  void append_evidence(std::size_t below) {
    const Evidence& evidence = in_.evidence;
    if (evidence.exception) {
      wrap("  ", "    ", *evidence.exception);
      if (evidence.where) wrap("    ", "    ", *evidence.where);
      out_ += '\n';
      if (in_.on_screen) return;
    }
    constexpr std::size_t kAround = 2;  // heading, blank line
    constexpr std::size_t kLeast = 3;
    const std::size_t used = std::min(count_lines(out_) + kAround + below, kScreen);
    const auto wanted = static_cast<std::size_t>(std::max(in_.max_last_lines, 0));
    const std::size_t room = std::max(kScreen - used, kLeast);
    const std::size_t most = std::min(evidence.last_lines.size(), wanted);
    if (most == 0) return;
    out_ += "  last lines";
    if (outcome_.first) out_ += " of rank " + std::to_string(outcome_.first->value);
    if (outcome_.cause == Cause::starter) out_ += " of mpirun";
    if (evidence.of_stdout) out_ += " (stdout)";
    out_ += '\n';
    out_ += quoted(most, room) + '\n';
  }

  /// The last lines, at most `most` of them in at most `rows` rows; the very last one is always
  /// included.
  [[nodiscard]] std::string quoted(std::size_t most, std::size_t rows) const {
    const auto& lines = in_.evidence.last_lines;
    std::string text;
    for (std::size_t i = lines.size(); i-- > lines.size() - most;) {
      const std::string earlier = quote(lines[i]);
      if (!text.empty() && count_lines(earlier) + count_lines(text) > rows) break;
      text.insert(0, earlier);
    }
    return text;
  }

  /// Quotes the line of the cause in full, or every line if the cause is unknown. Other lines are
  /// cut to the width of the screen.
  [[nodiscard]] std::string quote(const std::string& line) const {
    const bool may_be_cause = !in_.evidence.exception || line.ends_with(*in_.evidence.exception);
    std::string out;
    if (may_be_cause) {
      append_wrapped(out, kBar, kBar, line, in_.columns);
    } else {
      out.append(kBar).append(cut_to_columns(line, in_.columns - kBar.size())).append("\n");
    }
    return out;
  }

  void append_why() {
    const std::string why = why_failed(in_);
    if (!why.empty()) wrap("  why     ", "          ", why);
  }

  void append_others() {
    std::vector<std::string> others = describe_others(report_, in_.plan);
    if (report_.leftovers > 0) {
      others.push_back(
          std::to_string(report_.leftovers) +
          (report_.leftovers == 1 ? " leftover process was" : " leftover processes were") +
          " killed");
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (i + 1 < others.size()) others[i] += ';';
      const std::string_view title = outcome_.first ? "  others  " : "  ranks   ";
      wrap(i == 0 ? title : "          ", "          ", others[i]);
    }
  }

  void append_advice() {
    const bool chosen =
        outcome_.port && std::none_of(report_.earlier.begin(), report_.earlier.end(),
                                      [](const auto& a) { return a.outcome.port; });
    if (chosen) out_ += "  try     rendezvous.port: auto (--set rendezvous.port=auto)\n";
    const std::string other = advice_for(in_);
    if (!other.empty()) wrap("  try     ", "          ", other);
  }

  void append_logs() {
    if (in_.run_path.empty()) return;
    std::string folder = plain_line(in_.run_path) + '/';
    if (!report_.ranks.empty()) folder += "attempt-" + std::to_string(report_.attempt.value) + '/';
    out_ += "  logs    ";
    const RankEnd* end = report_.end_of_first();
    if (end != nullptr && !end->start_failure) append_logs_command(folder.size());
    out_.append(folder).append("\n");
  }

  /// `beside`: width of the text that follows on the same line if there is room.
  void append_logs_command(std::size_t beside) {
    constexpr std::size_t kBefore = 10;
    constexpr std::size_t kColumn = 32;
    const bool found = in_.plan != nullptr && in_.run_path == "runs/" + in_.plan->run_id;
    std::string command = "dlaunch logs ";
    if (!found) command += plain_line(jobfile::shell_quote(in_.run_path)) + ' ';
    command += "--rank " + words_.ranks_to_read();
    const bool fits = found && kBefore + kColumn + beside <= in_.columns;
    out_ += command;
    out_ += fits ? std::string(kColumn - std::min(command.size(), kColumn - 1), ' ')
                 : "\n" + std::string(kBefore, ' ');
  }

  const SummaryInput& in_;
  const RunReport& report_;
  const Outcome& outcome_;
  const FailureWords words_;
  std::string out_;
};

}  // namespace

std::string summary_text(const SummaryInput& input) {
  // Cleans the whole text once more, in case a text from a node was not cleaned.
  std::string text = plain_text(Summary(input).text());
  constexpr std::string_view kFailed = "dlaunch: FAILED";
  const std::size_t at = input.colour ? text.find(kFailed) : std::string::npos;
  if (at == std::string::npos) return text;
  // ISO 6429: bold, red.
  text.insert(at + kFailed.size(), "\x1b[0m");
  text.insert(at + kName.size(), "\x1b[1;31m");
  return text;
}

std::string start_line(const LaunchPlan& plan) {
  std::string line(kName);
  if (!plan.name.empty()) line += plain_line(plan.name) + ", ";
  line += counted(plan.ranks.size(), "rank") + " on " + counted(plan.nodes.size(), "node");
  if (plan.framework != Framework::none) line += " (" + std::string(name_of(plan.framework)) + ')';
  return line + ", run " + plan.run_id + '\n';
}

}  // namespace dlaunch
