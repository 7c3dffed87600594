// What Slurm says of a job while it runs or is being ended: scontrol(1), `show job` and `show
// config`. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

using SlurmTime = std::chrono::seconds;  // since the epoch

/// With this in its environment (NAME=VALUE) scontrol prints times as seconds since the epoch.
inline constexpr const char* kSlurmTimeFormat = "SLURM_TIME_FORMAT=%s";

struct SlurmState {
  std::string state;                   // "RUNNING", "COMPLETING", "TIMEOUT"; empty: not told
  std::string reason;                  // "None", "TimeLimit"
  std::optional<SlurmTime> end;        // of its time, which a preemption with GraceTime moves
  std::optional<SlurmTime> preempted;  // when it was chosen to make room
  int restarts = 0;                    // how often it was requeued
  bool operator==(const SlurmState&) const = default;
};

/// A number of seconds since the epoch; nullopt: none ("Unknown"), or one that no clock here holds.
[[nodiscard]] std::optional<SlurmTime> read_slurm_time(std::string_view text);

/// `scontrol show job ID`, of which only the lines that Slurm makes are looked at, none of those
/// that hold what users have named. `job`: whose record is meant; for the number of a job array
/// Slurm prints the records of all its jobs.
[[nodiscard]] SlurmState read_slurm_state(std::string_view text, std::string_view job);

/// KillWait of `scontrol show config`: how long after SIGTERM Slurm sends SIGKILL.
[[nodiscard]] std::optional<std::chrono::seconds> read_kill_wait(std::string_view text);

/// What accounting says of jobs that the queue has forgotten: number -> state. Lines of sacct(1)
/// with --parsable2 and this format; of a job that was requeued there are several, and the last
/// counts.
inline constexpr const char* kSlurmAccountFormat = "JobIDRaw,State";
[[nodiscard]] std::map<std::string, std::string> read_slurm_account(std::string_view text);

enum class SlurmEnding { none, time_limit, preempted, requeued, cancelled, node_failed, other };

/// Why the job has got a signal, as far as its state tells; none: not because Slurm ends it now.
/// `restarts`: SLURM_RESTART_COUNT of this start.
[[nodiscard]] SlurmEnding ending_of(const SlurmState& state, int restarts, SlurmTime now);

/// What a signal of Slurm means for the run.
struct SlurmNotice {
  /// For people: "Slurm preempts job 17"; empty: nothing is known that would explain the signal.
  std::string text;
  /// When what has not ended must be killed, so that there is time for the report before Slurm
  /// kills all; from when the signal came. nullopt: not known.
  std::optional<std::chrono::milliseconds> left;
  bool operator==(const SlurmNotice&) const = default;
};

struct SlurmSignal {
  std::string job;
  int restarts = 0;  // SLURM_RESTART_COUNT of this start
  SlurmTime came{};
  std::optional<std::chrono::seconds> kill_wait;  // nullopt: not told
};
[[nodiscard]] SlurmNotice slurm_notice(const SlurmSignal& signal, const SlurmState& state);

}  // namespace dlaunch
