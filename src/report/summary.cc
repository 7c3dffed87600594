#include "report/summary.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>
#include <utility>

#include "log/time_text.h"
#include "model/signal_names.h"
#include "plan/command.h"
#include "report/plain_text.h"
#include "report/rank_groups.h"
#include "report/rank_list.h"
#include "supervise/wording.h"
#include "text/duration_text.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr std::size_t kScreen = 24;  // lines
constexpr std::string_view kName = "dlaunch: ";
constexpr std::string_view kBar = "    | ";           // before what a rank said
constexpr std::string_view kUnderName = "         ";  // continues a statement

const RankEnd* end_of(const RunReport& report, Rank rank) {
  return rank.value < report.ranks.size() ? &report.ranks[rank.value] : nullptr;
}

/// How a script that was given as a program can be run; empty where that is no likely reason.
std::string script_advice(const StartFailure& failure) {
  if (failure.step != StartFailure::Step::execute) return {};
  const std::string file = plain_line(failure.path);
  const bool is_python = file.ends_with(".py");
  if (!is_python && !file.ends_with(".sh")) return {};
  const std::string by_interpreter = (is_python ? "python3 " : "sh ") + file;
  switch (failure.error_number) {
    case ENOENT:  // not in PATH, where the current folder is not looked for
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

/// From the start of the first rank to the end of the one that failed first; else the whole run,
/// which also holds the time that the others took to stop.
MonotonicTime time_of_failure(const RunReport& report) {
  const RankEnd* first = report.first ? end_of(report, *report.first) : nullptr;
  if (first == nullptr || !first->ended) return report.elapsed;
  std::optional<WallTime> start;
  for (const RankEnd& end : report.ranks) {
    if (end.started) start = std::min(start.value_or(*end.started), *end.started);
  }
  return start ? std::max(*first->ended - *start, MonotonicTime{0}) : report.elapsed;
}

class Summary {
 public:
  explicit Summary(const SummaryInput& input) : in_(input), report_(input.report) {}

  std::string text() {
    switch (report_.cause) {
      case Cause::success:
        success();
        break;
      case Cause::cancelled:
        cancelled();
        break;
      case Cause::cannot_execute:
        cannot_execute();
        break;
      case Cause::plan:
        append_statement(report_.detail);
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
      case Cause::mpirun:
      case Cause::stragglers:
      case Cause::internal:
        failure();
        break;
    }
    return std::move(out_);
  }

 private:
  void success() {
    append_earlier_statements();
    std::string line = "done in " + duration_text(report_.elapsed);
    append_comma(line, count_ends(report_));
    append_end(line);
  }

  void cancelled() {
    append_earlier_statements();
    std::string line = "stopped ";
    if (report_.signal == 0) {
      line += "because the process that started it is gone,";
    } else {
      line +=
          "by " + (report_.signal == SIGINT ? std::string("Ctrl-C") : signal_name(report_.signal));
    }
    line += " after " + duration_text(report_.elapsed);
    if (!in_.slurm.said.empty()) line += " (" + plain_line(in_.slurm.said) + ')';
    if (in_back_off() || before_ranks()) {
      line += " while waiting for " + next_attempt(report_.earlier.back());
    } else {
      append_comma(line, count_ends(report_));
    }
    append_end(line);
  }

  /// Whether no attempt has followed the last that failed: the ranks are those of that one.
  [[nodiscard]] bool in_back_off() const {
    return !report_.earlier.empty() && report_.earlier.back().attempt == report_.attempt;
  }

  /// Whether the next attempt has begun to connect its nodes, and no rank of it.
  [[nodiscard]] bool before_ranks() const {
    return !report_.earlier.empty() && !in_back_off() && report_.ranks.empty();
  }

  /// Of which ranks ran.
  [[nodiscard]] std::size_t restarts() const {
    return report_.attempt.value - (before_ranks() ? 1U : 0U);
  }

  [[nodiscard]] static std::string next_attempt(const EarlierAttempt& failed) {
    if (failed.restart == 0) return "attempt " + std::to_string(failed.attempt.value + 1);
    return "restart " + std::to_string(failed.restart) + " of " +
           std::to_string(failed.restarts_max);
  }

  void append_earlier_statements() {
    for (const std::string& attempt : earlier_attempts()) {
      append_wrapped(out_, kName, kUnderName, attempt);
    }
  }

  void append_end(std::string& line) {
    if (restarts() > 0) line += " after " + counted(restarts(), "restart");
    if (report_.leftovers > 0) {
      line += ", " + counted(report_.leftovers, "leftover process");
      if (report_.leftovers > 1) line.replace(line.size() - 1, 1, "es");
      line += " killed";
    }
    const std::string logs = in_.run_path.empty() ? "" : "logs in " + plain_line(in_.run_path);
    if (!logs.empty()) line += ',';
    append_wrapped(out_, kName, kUnderName, line);
    if (logs.empty()) return append_metrics();
    // Never parted, so that it can be searched for.
    const std::size_t last = out_.size() - 1 - (out_.rfind('\n', out_.size() - 2) + 1);
    out_.pop_back();
    const bool fits = last + 1 + logs.size() <= kScreenColumns;
    out_ += fits ? " " : "\n" + std::string(kUnderName);
    out_.append(logs).append("\n");
    append_metrics();
  }

  /// None where no rank has run.
  void append_metrics() {
    if (report_.ranks.empty()) return;
    for (const Metric& metric : in_.metrics)
      append_wrapped(out_, kName, kUnderName, metric_line(metric));
  }

  static void append_comma(std::string& line, const std::string& more) {
    if (!more.empty()) line += ", " + more;
  }

  /// Text of several lines, as an error's message is: the first gets dlaunch's name.
  void append_statement(std::string_view text) {
    std::string_view name = kName;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      out_.append(name).append(plain_line(text.substr(0, end))).append("\n");
      text.remove_prefix(std::min(end + 1, text.size()));
      name = {};
    }
  }

  /// One line for each host, whatever their number and length: they are to be searched and copied.
  void not_connected() {
    const auto& lost = report_.lost_nodes;
    const std::string after = "FAILED after " + duration_text(report_.elapsed) + ": ";
    if (lost.size() <= 1) {
      append_statement(after + (lost.empty() ? "a node was lost" : lost_line(lost.front())));
    } else {
      append_statement(after + std::to_string(lost.size()) + " of " +
                       counted(std::max(in_.node_names.size(), lost.size()), "node") +
                       " cannot be used");
      for (const LostNode& one : lost) out_.append(kUnderName).append(lost_line(one)).append("\n");
    }
    append_earlier();
    if (report_.earlier.empty()) return;
    append_return_advice();
    append_logs();
  }

  /// For a restart that has waited for them in vain.
  void append_return_advice() {
    const bool several = report_.lost_nodes.size() > 1;
    append_wrapped(out_, "  try     ", "          ",
                   several ? "bring them back, or leave them out of the hosts, and run it again"
                           : "bring it back, or leave it out of the hosts, and run it again");
  }

  [[nodiscard]] std::string lost_line(const LostNode& lost) const {
    const std::string name = wording::node(in_.node_names, lost.node);
    return plain_line(name + ": " + lost.what + last_heard(lost));
  }

  /// " (last heard 2026-11-20T21:01:42Z)": what is after that is not known of it.
  [[nodiscard]] static std::string last_heard(const LostNode& lost) {
    if (!lost.heard_at) return "";
    std::string time = time_text(*lost.heard_at);
    time.replace(time.find('.'), std::string::npos, "Z");
    return " (last heard " + time + ')';
  }

  void cannot_execute() {
    const RankEnd* end = report_.first ? end_of(report_, *report_.first) : nullptr;
    if (end == nullptr || !end->start_failure) return failure();
    const StartFailure& failure = *end->start_failure;
    append_statement(who(*report_.first) + ": " + describe(failure));
    if (!failure.search_path.empty()) {
      out_.append(kUnderName).append("PATH").append(on_node(*report_.first));
      out_.append(": ").append(plain_line(failure.search_path)).append("\n");
    }
    const std::string advice = script_advice(failure);
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
    append_advice();
    append_logs();
    const std::string end = std::exchange(out_, {});
    append_wrapped(out_, kName, kUnderName, headline());
    out_ += '\n';
    append_evidence(count_lines(end));
    out_ += end;
  }

  static std::size_t count_lines(std::string_view text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  [[nodiscard]] std::string headline() const {
    // In a run with restarts the time of the whole run is the one to look for in one's day.
    const bool by_rank = report_.first.has_value() && report_.attempt.value == 0;
    std::string line = "FAILED after " +
                       duration_text(by_rank ? time_of_failure(report_) : report_.elapsed) + ": ";
    switch (report_.cause) {
      case Cause::node_lost:
        line += lost_node();
        break;
      case Cause::time_limit:
        line += "reached the time limit" +
                (report_.limit ? " of " + wording::duration(*report_.limit) : "") +
                " (timeouts.run)";
        break;
      case Cause::port_taken:
        line += taken_port() + "; " + first_failure();
        break;
      case Cause::stragglers:
        line += stragglers();
        break;
      case Cause::mpirun:
        line += one_line(report_.detail);
        break;
      case Cause::internal:
        line += "internal error: " + one_line(report_.detail);
        break;
      default:
        line += first_failure();
        break;
    }
    if (restarts() > 0) line += ", after " + counted(restarts(), "restart");
    return line;
  }

  [[nodiscard]] std::string taken_port() const {
    return taken_port_text(report_.port.value_or(TakenPort{}),
                           report_.first ? on_node(*report_.first) : "");
  }

  static std::string taken_port_text(const TakenPort& port, const std::string& where) {
    return "port " + std::to_string(port.port) + where + " was taken by " +
           (port.holder.empty() ? "another process" : plain_line(port.holder));
  }

  [[nodiscard]] std::string stragglers() const {
    const bool one = report_.stragglers.size() == 1;
    return (one ? "rank " : "ranks ") + rank_ranges(report_.stragglers) + (one ? " was" : " were") +
           " still running after others had ended well (timeouts.stragglers_after_success" +
           (report_.limit ? ": " + wording::duration(*report_.limit) : "") + ')';
  }

  /// "attempt 0: rank 1 exited with code 1 after 12 s"; the last ones, when there are many.
  [[nodiscard]] std::vector<std::string> earlier_attempts() const {
    constexpr std::size_t kShown = 5;
    std::vector<std::string> lines;
    const auto& all = report_.earlier;
    const std::size_t hidden = all.size() > kShown ? all.size() - (kShown - 1) : 0;
    if (hidden > 0) lines.push_back(counted(hidden, "attempt") + " before: see summary.json");
    for (std::size_t i = hidden; i < all.size(); ++i) {
      lines.push_back("attempt " + std::to_string(all[i].attempt.value) + ": " +
                      describe_attempt(all[i]) + " after " + duration_text(all[i].ran));
    }
    return lines;
  }

  [[nodiscard]] std::string lost_names(const std::vector<LostNode>& lost) const {
    std::string text = wording::node(in_.node_names, lost.front().node);
    if (lost.size() > 1) text += " and " + counted(lost.size() - 1, "other node");
    return text + (lost.size() > 1 ? " were lost" : " was lost");
  }

  [[nodiscard]] std::string describe_attempt(const EarlierAttempt& attempt) const {
    std::string text = attempt.port ? taken_port_text(*attempt.port, "") + "; " : "";
    if (!attempt.lost_nodes.empty()) return text + lost_names(attempt.lost_nodes);
    if (attempt.cause == Cause::mpirun) return text + "mpirun failed";
    if (!attempt.first || !attempt.end) return text + name_of(attempt.cause);
    return text + "rank " + std::to_string(attempt.first->value) + ' ' +
           describe(attempt.end->status);
  }

  void append_earlier() {
    const std::vector<std::string> lines = earlier_attempts();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      append_wrapped(out_, i == 0 ? "  earlier " : "          ", "          ", lines[i]);
    }
  }

  [[nodiscard]] std::string first_failure() const {
    const RankEnd* end = report_.first ? end_of(report_, *report_.first) : nullptr;
    if (end == nullptr) return report_.detail.empty() ? "a rank failed" : one_line(report_.detail);
    std::string text = who(*report_.first) + ' ';
    text += end->start_failure ? describe(*end->start_failure) : describe(end->status);
    if (report_.perhaps_first.empty()) {
      if (report_.ranks.size() > 1) text += ", first of " + std::to_string(report_.ranks.size());
      return text;
    }
    std::vector<Rank> ties = report_.perhaps_first;
    ties.push_back(*report_.first);
    std::sort(ties.begin(), ties.end());
    const std::string list =
        ties.size() == 2 ? std::to_string(ties[0].value) + " and " + std::to_string(ties[1].value)
                         : rank_ranges(ties);
    return text + ", cannot tell which of ranks " + list + " was first";
  }

  [[nodiscard]] std::string lost_node() const {
    const std::string detail = one_line(report_.detail);
    std::string name = "a node";
    const bool known = report_.lost_node && in_.plan != nullptr &&
                       report_.lost_node->value < in_.plan->nodes.size();
    if (known) name = in_.plan->nodes[report_.lost_node->value].name;
    const std::string heard =
        report_.lost_nodes.empty() ? "" : last_heard(report_.lost_nodes.front());
    if (detail.empty()) return name + " was lost" + heard;
    return (known && detail.starts_with(name) ? detail : name + " was lost: " + detail) + heard;
  }

  static std::string one_line(std::string_view text) {
    return plain_line(text.substr(0, text.find('\n')));
  }

  /// `below`: lines that come after the evidence; the quoted lines give way to them.
  void append_evidence(std::size_t below) {
    const Evidence& evidence = in_.evidence;
    if (evidence.exception) {
      out_.append("  ").append(*evidence.exception).append("\n");
      if (evidence.where) out_.append("    ").append(*evidence.where).append("\n");
      out_ += '\n';
    }
    constexpr std::size_t kAround = 2;  // heading, blank line
    constexpr std::size_t kLeast = 3;
    const std::size_t used = std::min(count_lines(out_) + kAround + below, kScreen);
    const auto wanted = static_cast<std::size_t>(std::max(in_.max_last_lines, 0));
    const std::size_t room = std::max(kScreen - used, kLeast);
    const std::size_t shown = std::min({evidence.last_lines.size(), wanted, room});
    if (shown == 0) return;
    out_ += "  last lines";
    if (report_.first) out_ += " of rank " + std::to_string(report_.first->value);
    if (report_.cause == Cause::mpirun) out_ += " of mpirun";
    out_ += '\n';
    for (std::size_t i = evidence.last_lines.size() - shown; i < evidence.last_lines.size(); ++i) {
      const std::string line = cut_to_columns(evidence.last_lines[i], kScreenColumns - kBar.size());
      out_.append(kBar).append(line).append("\n");
    }
    out_ += '\n';
  }

  /// Only what there is evidence for.
  void append_why() {
    const RankEnd* first = report_.first ? end_of(report_, *report_.first) : nullptr;
    if (first == nullptr) return;
    std::string why = why_not_mpi(first->status.mpi);
    if (!first->status.out_of_memory.empty()) {
      why = "the kernel ended it: out of memory (" + one_line(first->status.out_of_memory) + ')';
    }
    if (!why.empty()) append_wrapped(out_, "  why     ", "          ", why);
  }

  [[nodiscard]] bool is_by_mpirun() const { return in_.plan != nullptr && in_.plan->mpirun; }

  [[nodiscard]] std::string what_else_for_mpi() const {
    if (is_by_mpirun()) {
      return "the mpirun of the library that the program was built with (mpi.program); or leave "
             "out mpi.launcher: dlaunch starts programs of either kind; framework: none for other "
             "programs";
    }
    return "mpi.init: optional for programs that only read MPI's variables; framework: none for "
           "others; for other MPI libraries their own mpirun, with mpi.launcher: mpirun";
  }

  [[nodiscard]] std::string why_not_mpi(MpiEnd end) const {
    if (end == MpiEnd::never_connected && is_by_mpirun()) {
      return "every rank of an MPI job must call MPI_Init, and has not met mpirun (" +
             in_.plan->mpirun->name +
             "): the program was built with another MPI library, and each rank was a world of its "
             "own; or it is no MPI program, or a container hides mpirun's server from it";
    }
    if (end == MpiEnd::never_connected) {
      return "every rank of an MPI job must call MPI_Init and reach dlaunch by it, over PMIx (Open "
             "MPI) or PMI-1 (MPICH, Intel MPI); this one is no MPI program, or its MPI library has "
             "neither, or a container hides PMIx's server or the descriptor PMI_FD from it, or "
             "there is no server (a note says so)";
    }
    if (end == MpiEnd::not_finalized) {
      return "a rank that has called MPI_Init must call MPI_Finalize before it exits: the others "
             "may wait for it";
    }
    return "";
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
      const std::string_view title = report_.first ? "  others  " : "  ranks   ";
      append_wrapped(out_, i == 0 ? title : "          ", "          ", others[i]);
    }
  }

  void append_advice() {
    const bool chosen = report_.port && std::none_of(report_.earlier.begin(), report_.earlier.end(),
                                                     [](const auto& a) { return a.port; });
    if (chosen) out_ += "  try     rendezvous.port: auto\n";
    const RankEnd* first = report_.first ? end_of(report_, *report_.first) : nullptr;
    if (first == nullptr || first->status.mpi != MpiEnd::never_connected) return;
    append_wrapped(out_, "  try     ", "          ", what_else_for_mpi());
  }

  void append_logs() {
    if (in_.run_path.empty()) return;
    std::string folder = plain_line(in_.run_path) + '/';
    if (!report_.ranks.empty()) folder += "attempt-" + std::to_string(report_.attempt.value) + '/';
    out_ += "  logs    ";
    const RankEnd* end = report_.first ? end_of(report_, *report_.first) : nullptr;
    if (end != nullptr && !end->start_failure) append_logs_command(folder.size());
    out_.append(folder).append("\n");
  }

  /// `beside`: columns of what follows on the same line, if there is room.
  void append_logs_command(std::size_t beside) {
    constexpr std::size_t kBefore = 10;
    constexpr std::size_t kColumn = 32;
    const bool found = in_.plan != nullptr && in_.run_path == "runs/" + in_.plan->run_id;
    std::string command = "dlaunch logs ";
    if (!found) command += plain_line(shell_quoted(in_.run_path)) + ' ';
    command += "--rank " + std::to_string(report_.first->value);
    const bool fits = found && kBefore + kColumn + beside <= kScreenColumns;
    out_ += command;
    out_ += fits ? std::string(kColumn - std::min(command.size(), kColumn - 1), ' ')
                 : "\n" + std::string(kBefore, ' ');
  }

  [[nodiscard]] std::string who(Rank rank) const {
    return "rank " + std::to_string(rank.value) + on_node(rank);
  }

  /// " on node1", or nothing where no plan tells.
  [[nodiscard]] std::string on_node(Rank rank) const {
    if (in_.plan == nullptr || rank.value >= in_.plan->ranks.size()) return "";
    const std::uint32_t node = in_.plan->ranks[rank.value].node.value;
    return node < in_.plan->nodes.size() ? " on " + in_.plan->nodes[node].name : "";
  }

  const SummaryInput& in_;
  const RunReport& report_;
  std::string out_;
};

}  // namespace

std::string summary_text(const SummaryInput& input) {
  return Summary(input).text();
}

std::string start_line(const LaunchPlan& plan) {
  std::string line(kName);
  if (!plan.name.empty()) line += plain_line(plan.name) + ", ";
  line += counted(plan.ranks.size(), "rank") + " on " + counted(plan.nodes.size(), "node");
  if (plan.framework != Framework::none) line += " (" + std::string(name_of(plan.framework)) + ')';
  return line + ", run " + plan.run_id + '\n';
}

}  // namespace dlaunch
