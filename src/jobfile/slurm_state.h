// A job's state while it runs or ends, from scontrol(1), `show job` and `show config`. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

using SlurmTime = std::chrono::seconds;  // since the epoch

/// The SLURM_TIME_FORMAT with which scontrol prints times as seconds since the epoch.
inline constexpr const char* kSlurmTimeFormat = "%s";

struct SlurmState {
  std::string state;                   // "RUNNING", "COMPLETING", "TIMEOUT"; empty: unknown
  std::string reason;                  // "None", "TimeLimit"
  std::optional<SlurmTime> end;        // time limit; a preemption with GraceTime moves it
  std::optional<SlurmTime> preempted;  // when it was selected for preemption
  int restarts = 0;                    // number of requeues
  bool operator==(const SlurmState&) const = default;
};

/// Seconds since the epoch; nullopt: not a number ("Unknown"), or out of range.
[[nodiscard]] std::optional<SlurmTime> read_slurm_time(std::string_view text);

/// Parses `scontrol show job ID`; only lines that Slurm generates count, not those with text from
/// users. `job`: the record to read; for the number of a job array Slurm prints the records of all
/// its jobs.
[[nodiscard]] SlurmState read_slurm_state(std::string_view text, std::string_view job);

/// KillWait of `scontrol show config`: how long after SIGTERM Slurm sends SIGKILL.
[[nodiscard]] std::optional<std::chrono::seconds> read_kill_wait(std::string_view text);

/// Parses what sacct(1) prints with --parsable2 and this format about jobs that left the queue: job
/// number -> state. A requeued job has several lines, and the last one counts.
inline constexpr const char* kSlurmAccountFormat = "JobIDRaw,State";
[[nodiscard]] std::map<std::string, std::string> read_slurm_account(std::string_view text);

enum class SlurmEnding { none, time_limit, preempted, requeued, cancelled, node_failed, other };

/// Why the job received a signal, as far as its state shows; none: Slurm is not ending the job.
/// `restarts`: SLURM_RESTART_COUNT of this start.
[[nodiscard]] SlurmEnding ending_of(const SlurmState& state, int restarts, SlurmTime now);

/// What a signal of Slurm means for the run.
struct SlurmNotice {
  /// A message for the user: "Slurm job 17 was cancelled by scancel"; empty: nothing known explains
  /// the signal.
  std::string text;
  /// Time from the signal until dlaunch must kill the remaining ranks, so that it can still write
  /// its report before Slurm kills everything. nullopt: unknown.
  std::optional<std::chrono::milliseconds> left;
  bool operator==(const SlurmNotice&) const = default;
};

struct SlurmSignal {
  std::string job;
  int restarts = 0;  // SLURM_RESTART_COUNT of this start
  SlurmTime came{};
  std::optional<std::chrono::seconds> kill_wait;  // nullopt: unknown
};
[[nodiscard]] SlurmNotice slurm_notice(const SlurmSignal& signal, const SlurmState& state);

}  // namespace dlaunch
