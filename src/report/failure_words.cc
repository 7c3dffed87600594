#include "report/failure_words.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>

#include "log/time_text.h"
#include "model/signal_names.h"
#include "report/culprit.h"
#include "report/peer_loss.h"
#include "report/plain_text.h"
#include "report/rank_groups.h"
#include "report/rank_list.h"
#include "spec/shell_quote.h"
#include "supervise/wording.h"
#include "text/duration_text.h"

namespace dlaunch {

namespace {

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

/// "was killed by SIGSEGV", of several.
std::string plural(std::string how) {
  if (how.starts_with("was ")) how.replace(0, 3, "were");
  return how;
}

/// The command that begins with `program`, a word that holds several, and so may its options
/// ("--lr 0.1"); other words with a space in them are taken for what was meant.
std::string as_several_words(const std::string& program, const std::vector<CommandPlan>& commands) {
  std::string line = program;
  for (const CommandPlan& command : commands) {
    if (command.argv.empty() || command.argv.front() != program) continue;
    for (auto word = command.argv.begin() + 1; word != command.argv.end(); ++word) {
      const std::size_t at = word->find_first_of(" =");
      const bool is_several =
          word->starts_with('-') && at != std::string::npos && (*word)[at] == ' ';
      line += ' ' + (is_several ? *word : spec::shell_quote(*word));
    }
    break;
  }
  return line;
}

/// How ranks that failed alike ended. dlaunch's signal may have reached some while they were
/// failing: their code is none of their own, that of the others is common to all.
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
    return '"' + file + "\" is one word with a space in it; the command as several words: -- " +
           line + ", or in the job file command: " + line;
  }
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

const RankEnd* end_of(const RunReport& report, Rank rank) {
  return rank.value < report.ranks.size() ? &report.ranks[rank.value] : nullptr;
}

std::string one_line(std::string_view text) {
  return plain_line(text.substr(0, text.find('\n')));
}

std::string FailureWords::headline() const {
  // In a run with restarts the time of the whole run is the one to look for in one's day.
  const bool by_rank = report_.first.has_value() && report_.attempt.value == 0;
  std::string line =
      "FAILED after " + duration_text(by_rank ? time_of_failure(report_) : report_.elapsed) + ": ";
  switch (report_.cause) {
    case Cause::node_lost:
      line += lost_node();
      break;
    case Cause::time_limit:
      line += "reached the time limit" +
              (report_.limit ? " of " + wording::duration(*report_.limit) : "") + " (timeouts.run)";
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

std::string FailureWords::left_early() const {
  const auto& left = report_.left_early;
  const std::string who_left = left.size() == 1 ? who(left.front()) : "ranks " + rank_ranges(left);
  const std::string collective = collective_of(in_.evidence);
  return who_left + " left with code 0 while others were still " +
         (collective.empty() ? "running" : "in " + collective);
}

std::string FailureWords::failed_alike() const {
  std::vector<Rank> ranks = report_.alike;
  ranks.push_back(*report_.first);
  std::sort(ranks.begin(), ranks.end());
  const bool all = ranks.size() == report_.ranks.size();
  const std::string how = common_end(ranks, report_);
  if (all && ranks.size() == 2) return "both ranks " + plural(how);
  if (all) return "all " + counted(ranks.size(), "rank") + ' ' + plural(how);
  return "ranks " + rank_ranges(ranks) + " of " + std::to_string(report_.ranks.size()) + ' ' +
         plural(how) + " in the same way";
}

std::string FailureWords::first_failure() const {
  const RankEnd* end = report_.first ? end_of(report_, *report_.first) : nullptr;
  if (end == nullptr) return report_.detail.empty() ? "a rank failed" : one_line(report_.detail);
  if (!report_.left_early.empty()) return left_early();
  const std::string ended =
      !report_.alike.empty() && report_.perhaps_first.empty() ? failed_alike() : what_ended();
  return suspects().empty() ? ended : "cause not known; " + ended;
}

std::string FailureWords::what_ended() const {
  const RankEnd* end = end_of(report_, *report_.first);
  std::string text = who(*report_.first) + ' ';
  const bool was_stopped = end->how == RankEnd::How::stopped || end->how == RankEnd::How::killed;
  if (was_stopped && end->status.signaled) {
    // The signal was dlaunch's: others had ended first, because they had lost this rank.
    text += "failed";
  } else {
    text += end->start_failure ? describe(*end->start_failure) : describe(end->status);
  }
  if (!suspects().empty()) return text + ", having lost another rank";
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

std::string FailureWords::lost_line(const LostNode& lost) const {
  const std::string name = wording::node(in_.node_names, lost.node);
  return plain_line(name + ": " + lost.what + last_heard(lost));
}

std::vector<std::string> FailureWords::earlier_attempts() const {
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

std::size_t FailureWords::restarts() const {
  return report_.attempt.value - (before_ranks() ? 1U : 0U);
}

bool FailureWords::in_back_off() const {
  return !report_.earlier.empty() && report_.earlier.back().attempt == report_.attempt;
}

bool FailureWords::before_ranks() const {
  return !report_.earlier.empty() && !in_back_off() && report_.ranks.empty();
}

std::string FailureWords::next_attempt(const EarlierAttempt& failed) {
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
  return taken_port_text(report_.port.value_or(TakenPort{}),
                         report_.first ? on_node(*report_.first) : "");
}

std::string FailureWords::taken_port_text(const TakenPort& port, const std::string& where) {
  return "port " + std::to_string(port.port) + where + " was taken by " +
         (port.holder.empty() ? "another process" : plain_line(port.holder));
}

std::string FailureWords::stragglers() const {
  const bool one = report_.stragglers.size() == 1;
  return (one ? "rank " : "ranks ") + rank_ranges(report_.stragglers) + (one ? " was" : " were") +
         " still running after others had ended well (timeouts.stragglers_after_success" +
         (report_.limit ? ": " + wording::duration(*report_.limit) : "") + ')';
}

std::string FailureWords::lost_names(const std::vector<LostNode>& lost) const {
  std::string text = wording::node(in_.node_names, lost.front().node);
  if (lost.size() > 1) text += " and " + counted(lost.size() - 1, "other node");
  return text + (lost.size() > 1 ? " were lost" : " was lost");
}

std::string FailureWords::describe_attempt(const EarlierAttempt& attempt) const {
  std::string text = attempt.port ? taken_port_text(*attempt.port, "") + "; " : "";
  if (!attempt.lost_nodes.empty()) return text + lost_names(attempt.lost_nodes);
  if (attempt.cause == Cause::mpirun) return text + "mpirun failed";
  if (!attempt.first || !attempt.end) return text + name_of(attempt.cause);
  return text + "rank " + std::to_string(attempt.first->value) + ' ' +
         describe(attempt.end->status);
}

std::string FailureWords::lost_node() const {
  const std::string detail = one_line(report_.detail);
  std::string name = "a node";
  const bool known =
      report_.lost_node && in_.plan != nullptr && report_.lost_node->value < in_.plan->nodes.size();
  if (known) name = in_.plan->nodes[report_.lost_node->value].name;
  const std::string heard =
      report_.lost_nodes.empty() ? "" : last_heard(report_.lost_nodes.front());
  if (detail.empty()) return name + " was lost" + heard;
  return (known && detail.starts_with(name) ? detail : name + " was lost: " + detail) + heard;
}

bool FailureWords::is_by_mpirun() const {
  return in_.plan != nullptr && in_.plan->mpirun;
}

std::string FailureWords::what_else_for_mpi() const {
  if (is_by_mpirun()) {
    return "the mpirun of the library that the program was built with (mpi.program); or leave "
           "out mpi.launcher: dlaunch starts programs of either kind; framework: none for other "
           "programs";
  }
  return "mpi.init: optional for programs that only read MPI's variables; framework: none for "
         "others; for other MPI libraries their own mpirun, with mpi.launcher: mpirun";
}

std::string FailureWords::why_not_mpi(MpiEnd end) const {
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
  if (end == MpiEnd::other_world) {
    const std::size_t planned = in_.plan == nullptr ? 0 : in_.plan->ranks.size();
    return "the ranks of this job are one world" +
           (planned == 0 ? "" : " of " + std::to_string(planned)) +
           ", and the MPI library of this one has made another: something between dlaunch and the "
           "program has changed or removed what tells it its place (PMI_RANK, PMI_SIZE: env -i, "
           "sudo, a wrapper, a container that does not pass them)";
  }
  if (end == MpiEnd::not_finalized) {
    return "a rank that has called MPI_Init must call MPI_Finalize before it exits: the others "
           "may wait for it";
  }
  return "";
}

/// Explains a SIGKILL that neither dlaunch nor, as far as its records show, the kernel has sent.
std::string FailureWords::why_killed() const {
  const RankEnd& first = *end_of(report_, *report_.first);
  if (first.how != RankEnd::How::exited || first.status.code() != exit_code::kSignalBase + SIGKILL)
    return "";
  const std::string by_shell =
      first.status.signaled ? "" : "137 is a shell's code for a program that SIGKILL ended; ";
  if (first.status.oom_ruled_out) {
    return by_shell +
           "the signal was not sent by dlaunch, nor by the kernel's OOM killer: its "
           "records do not show it";
  }
  return by_shell +
         "the signal was not sent by dlaunch; dlaunch cannot read the records of the "
         "kernel's OOM killer there (dmesg as root shows them)";
}

std::string FailureWords::why_peer_lost() const {
  const PeerLoss* loss = find_peer_loss(in_.evidence);
  const auto& lost = report_.lost_peer;
  if (loss == nullptr || std::find(lost.begin(), lost.end(), *report_.first) == lost.end())
    return "";
  if (!report_.left_early.empty()) {
    return "rank " + std::to_string(report_.first->value) + ' ' +
           describe(end_of(report_, *report_.first)->status) + ", because " +
           std::string(loss->means);
  }
  const std::vector<Rank> silent = suspects();
  std::string text = "the error says that " + std::string(loss->means);
  if (silent.empty()) return text + ", and so do the errors of all others";
  return text + "; what happened there is not known, see the output of " +
         (silent.size() == 1 ? "rank " : "ranks ") + rank_ranges(silent);
}

std::vector<Rank> FailureWords::suspects() const {
  const auto& lost = report_.lost_peer;
  const auto lost_a_peer = [&](Rank rank) {
    return std::find(lost.begin(), lost.end(), rank) != lost.end();
  };
  if (!report_.first || !report_.left_early.empty() || !lost_a_peer(*report_.first) ||
      find_peer_loss(in_.evidence) == nullptr)
    return {};
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < report_.ranks.size(); ++i) {
    const RankEnd::How how = report_.ranks[i].how;
    const bool ended = how != RankEnd::How::not_started && how != RankEnd::How::lost;
    if (ended && !lost_a_peer(Rank(i))) ranks.push_back(Rank(i));
  }
  return ranks;
}

std::string FailureWords::ranks_to_read() const {
  const std::vector<Rank> ranks = suspects();
  if (ranks.empty()) return std::to_string(report_.first->value);
  std::string list = rank_ranges(ranks);
  list.erase(std::min(list.find(" and "), list.size()));
  std::erase(list, ' ');
  return list;
}

std::string FailureWords::why() const {
  const RankEnd* first = report_.first ? end_of(report_, *report_.first) : nullptr;
  if (first == nullptr) return "";
  if (!first->status.out_of_memory.empty())
    return "the kernel ended it: out of memory (" + one_line(first->status.out_of_memory) + ')';
  if (const std::string killed = why_killed(); !killed.empty()) return killed;
  if (const std::string lost = why_peer_lost(); !lost.empty()) return lost;
  if (const std::string mpi = why_not_mpi(first->status.mpi); !mpi.empty()) return mpi;
  return why_no_module();
}

std::string FailureWords::why_no_module() const {
  if (!in_.evidence.exception || !in_.evidence.exception->starts_with("ModuleNotFoundError"))
    return "";
  if (in_.plan == nullptr || report_.first->value >= in_.plan->ranks.size()) return "";
  const std::uint32_t node = in_.plan->ranks[report_.first->value].node.value;
  const std::string& python = in_.plan->nodes[node].python;
  return python.empty() ? "" : "the interpreter was " + plain_line(python);
}

std::string FailureWords::advice() const {
  if (const std::string text = advice_for_stdin(); !text.empty()) return text;
  if (!report_.left_early.empty())
    return "the same number of steps on every rank: each must take part in every collective";
  return advice_for_mpi();
}

std::string FailureWords::advice_for_stdin() const {
  const std::string exception = in_.evidence.exception.value_or("");
  const bool quit_debugger = exception.starts_with("bdb.BdbQuit");
  if (!quit_debugger && !exception.starts_with("EOFError: EOF when reading a line")) return "";
  const std::string call = quit_debugger ? "breakpoint()" : "input()";
  const std::string guarded = "if os.environ[\"RANK\"] == \"0\": " + call;
  if (in_.stdin_for == StdinFor::none) {
    return "--set stdin=rank0: without it a rank's stdin is empty, and " + call +
           " ends there; with it rank 0 reads what you type" +
           (report_.ranks.size() > 1 ? ", and only rank 0: " + guarded : "");
  }
  // Rank 0 had the terminal: there the user has ended it.
  if (!report_.first || report_.first->value == 0) return "";
  return "only rank 0 reads the terminal: " + guarded;
}

std::string FailureWords::advice_for_mpi() const {
  const RankEnd* first = report_.first ? end_of(report_, *report_.first) : nullptr;
  if (first == nullptr) return "";
  if (first->status.mpi == MpiEnd::other_world) {
    return "the program without what stands before it; mpi.init: optional where a world of its own "
           "is meant";
  }
  return first->status.mpi == MpiEnd::never_connected ? what_else_for_mpi() : "";
}

}  // namespace dlaunch
