#include "jobfile/slurm_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "text/duration_text.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// A signal more than this time before the end of the job has another cause. --signal may be
// requested up to 65,535 s before the end (sbatch(1)), but is usually meant to leave just enough
// time for a checkpoint.
constexpr std::chrono::minutes kNearEnd{30};
// Time that dlaunch needs between the end of the last rank and its own end, for the remaining
// output of the nodes and the summary.
constexpr std::chrono::milliseconds kForReport{5000};

int leading_int(std::string_view text) {
  int number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The value of `name` in "A=1 B=2"; values in these lists contain no blanks.
std::string_view value_in(std::string_view line, std::string_view name) {
  std::size_t at = 0;
  while ((at = line.find(name, at)) != std::string_view::npos) {
    const std::size_t end = at + name.size();
    const bool whole = (at == 0 || line[at - 1] == ' ') && end < line.size() && line[end] == '=';
    if (whole) {
      line.remove_prefix(end + 1);
      return line.substr(0, line.find(' '));
    }
    at = end;
  }
  return {};
}

/// Calls `use` with each line, without leading blanks.
template <class Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    use(line);
  }
}

bool has_reason(const SlurmState& job) {
  return !job.reason.empty() && job.reason != "None";
}

/// Whether the job's processes are running. slurmctld reports SIGNALING from the SIGCONT before
/// each signal until the nodes have answered.
bool runs(const SlurmState& job) {
  constexpr std::array<std::string_view, 5> kRun{"RUNNING", "SIGNALING", "STOPPED", "SUSPENDED",
                                                 "RESIZING"};
  return contains(kRun, job.state);
}

std::string meaning(SlurmEnding ending, const std::string& job, const SlurmState& state) {
  switch (ending) {
    case SlurmEnding::time_limit:
      return "Slurm job " + job + " has reached its time limit";
    case SlurmEnding::preempted:
      return "Slurm is preempting job " + job + " for another job";
    case SlurmEnding::requeued:
      return "Slurm job " + job +
             " was requeued (preemption, a failed node, or scontrol requeue): it will start again";
    case SlurmEnding::cancelled:
      return "Slurm job " + job + " was cancelled by scancel";
    case SlurmEnding::node_failed:
      return "a node of Slurm job " + job + " has failed";
    case SlurmEnding::other:
      return "Slurm ends job " + job + " (" + (has_reason(state) ? state.reason : state.state) +
             ')';
    case SlurmEnding::none:
      break;
  }
  return "";
}

/// The part of the time until Slurm's SIGKILL that the ranks get; most of it if the time is short.
std::chrono::milliseconds for_ranks(std::chrono::milliseconds until_kill) {
  until_kill = std::max(until_kill, std::chrono::milliseconds(0));
  return until_kill - std::min(kForReport, until_kill / 4);
}

}  // namespace

std::optional<SlurmTime> read_slurm_time(std::string_view text) {
  constexpr std::int64_t kMost = 9'000'000'000;  // in the year 2255; WallTime ends in 2262
  const auto number = number_of<std::int64_t>(text);
  const bool good = number && *number > 0 && *number <= kMost;
  return good ? std::optional(SlurmTime(*number)) : std::nullopt;
}

SlurmState read_slurm_state(std::string_view text, std::string_view job) {
  SlurmState state;
  bool mine = false;
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with("JobId=")) mine = value_in(line, "JobId") == job;
    if (!mine) return;
    if (line.starts_with("JobState=")) {
      state.state = value_in(line, "JobState");
      state.reason = value_in(line, "Reason");
    } else if (line.starts_with("Requeue=")) {
      state.restarts = leading_int(value_in(line, "Restarts"));
    } else if (line.starts_with("StartTime=")) {
      state.end = read_slurm_time(value_in(line, "EndTime"));
    } else if (line.starts_with("PreemptEligibleTime=") || line.starts_with("PreemptTime=")) {
      state.preempted = read_slurm_time(value_in(line, "PreemptTime"));
    }
  });
  return state;
}

std::optional<std::chrono::seconds> read_kill_wait(std::string_view text) {
  std::optional<std::chrono::seconds> found;
  for_each_line(text, [&](std::string_view line) {
    constexpr std::string_view kName = "KillWait";  // "KillWait                = 30 sec"
    if (!line.starts_with(kName)) return;
    line.remove_prefix(kName.size());
    line.remove_prefix(std::min(line.find_first_not_of(" ="), line.size()));
    if (const auto seconds = read_slurm_time(line.substr(0, line.find(' ')))) found = *seconds;
  });
  return found;
}

std::map<std::string, std::string> read_slurm_account(std::string_view text) {
  std::map<std::string, std::string> states;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t bar = line.find('|');
    if (bar == 0 || bar == std::string_view::npos) return;
    const std::string_view state = line.substr(bar + 1);
    const std::string_view word = state.substr(0, state.find_first_of(" |"));  // "CANCELLED by 0"
    if (!word.empty()) states[std::string(line.substr(0, bar))] = word;
  });
  return states;
}

SlurmEnding ending_of(const SlurmState& job, int restarts, SlurmTime now) {
  struct Row {
    std::string_view word;
    SlurmEnding ending;
  };
  constexpr std::array kReasons{
      Row{"TimeLimit", SlurmEnding::time_limit}, Row{"DeadLine", SlurmEnding::time_limit},
      Row{"NodeDown", SlurmEnding::node_failed}, Row{"BeginTime", SlurmEnding::requeued}};
  constexpr std::array kStates{
      Row{"TIMEOUT", SlurmEnding::time_limit},    Row{"DEADLINE", SlurmEnding::time_limit},
      Row{"PREEMPTED", SlurmEnding::preempted},   Row{"NODE_FAIL", SlurmEnding::node_failed},
      Row{"REQUEUED", SlurmEnding::requeued},     Row{"PENDING", SlurmEnding::requeued},
      Row{"REQUEUE_HOLD", SlurmEnding::requeued}, Row{"REQUEUE_FED", SlurmEnding::requeued},
      Row{"CANCELLED", SlurmEnding::cancelled},   Row{"COMPLETING", SlurmEnding::cancelled},
      Row{"COMPLETED", SlurmEnding::other},       Row{"FAILED", SlurmEnding::other},
      Row{"BOOT_FAIL", SlurmEnding::other},       Row{"OUT_OF_MEMORY", SlurmEnding::other},
      Row{"SPECIAL_EXIT", SlurmEnding::other},    Row{"REVOKED", SlurmEnding::other}};
  if (job.preempted) return SlurmEnding::preempted;
  if (runs(job)) return job.end && *job.end <= now ? SlurmEnding::time_limit : SlurmEnding::none;
  const auto* const state = std::find_if(kStates.begin(), kStates.end(),
                                         [&](const Row& row) { return row.word == job.state; });
  if (state == kStates.end()) return SlurmEnding::none;
  if (job.restarts > restarts) return SlurmEnding::requeued;
  for (const Row& row : kReasons) {
    if (job.reason == row.word) return row.ending;
  }
  const bool unexplained = state->ending == SlurmEnding::cancelled && has_reason(job);
  return unexplained ? SlurmEnding::other : state->ending;
}

SlurmNotice slurm_notice(const SlurmSignal& signal, const SlurmState& state) {
  const SlurmEnding ending = ending_of(state, signal.restarts, signal.came);
  SlurmNotice notice{meaning(ending, signal.job, state), std::nullopt};
  const bool later = runs(state) && state.end && *state.end > signal.came;
  if (later) {  // a warning: another SIGTERM follows at the time limit
    const SlurmTime until = *state.end - signal.came;
    notice.left = for_ranks(until);
    if (ending != SlurmEnding::none) {
      notice.text += "; job " + signal.job + " ends in " + duration_text(until);
    } else if (until <= kNearEnd) {
      notice.text =
          "Slurm job " + signal.job + " reaches its time limit in " + duration_text(until);
    }
  } else if (!runs(state) && ending != SlurmEnding::none && signal.kill_wait) {
    notice.left = for_ranks(*signal.kill_wait);
  }
  return notice;
}

}  // namespace dlaunch
