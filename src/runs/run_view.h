// RunView: one run folder as it is now. Nothing in a run folder is trusted: a file that is damaged,
// foreign or too large is an error in one line, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "os/files.h"
#include "runs/run_ending.h"
#include "runs/run_record.h"

namespace dlaunch {

enum class RunState {
  running,
  stopping,  // its ranks are being ended
  done,
  failed,
  stopped,  // by Ctrl-C, a signal or `dlaunch stop`
  lost,     // its launcher was killed and left no summary
  unknown,  // on another machine, whose locks this machine does not see
};

/// What this machine sees of a run. Look at the lock and the process before summary.json: if the
/// engine ends in between, its summary is already there.
struct RunWitness {
  std::optional<RunRecord> record;  // run.json
  std::optional<RunEnding> ending;  // summary.json
  LockSeen alive_lock = LockSeen::unknown;
  LockSeen stopping_lock = LockSeen::unknown;
  std::string host;            // this machine
  std::string boot_id;         // of this machine; empty: unknown
  bool engine_exists = false;  // a process of this machine has its pid and start time
};

/// A summary decides. Without one, a held lock proves that the engine lives, on whatever machine;
/// on the machine of the run, the engine's process proves it, too. If that machine sees neither
/// lock nor process, the engine is gone, even if the machine was rebooted (same name, other boot).
/// On another machine, a free lock proves nothing.
[[nodiscard]] RunState state_of_run(const RunWitness& witness);

/// Whether the run is on this machine, in its current boot.
[[nodiscard]] bool is_here(const RunWitness& witness);

[[nodiscard]] const char* name_of(RunState);
[[nodiscard]] inline bool is_live(RunState state) {
  return state == RunState::running || state == RunState::stopping;
}

/// EX_NOPERM of sysexits.h.
inline constexpr int kNoPermission = 77;

/// Where a node has stored the output of its ranks.
struct LeftOutput {
  std::string node;
  std::string folder;  // absolute, on that node
  std::vector<Rank> ranks;
  bool operator==(const LeftOutput&) const = default;
};

struct RunView {
  std::string id;
  std::string path;  // as given to read_run()
  RunWitness witness;
  RunState state = RunState::lost;
  std::string name;                                  // of the job; empty: unknown
  std::optional<std::uint32_t> ranks;                // unknown before there is a plan
  std::optional<std::chrono::nanoseconds> duration;  // until now if it is live
  /// Where uncollected output of a lost run is, unless the nodes were cleaned up since.
  std::vector<LeftOutput> left;
  std::string slurm_state;  // of its Slurm job, in Slurm's words ("RUNNING"); empty: unknown
};

/// The error for a `path` that cannot be read; `error` is the errno. If permissions are the cause:
/// kNoPermission, with the owner of `path`; else kUsage.
[[nodiscard]] Error cannot_read(const std::string& path, int error);

/// "YYYYMMDD-HHMMSS-xyz".
[[nodiscard]] bool is_run_id(std::string_view name);

/// Reads run.json, summary.json and, without a summary, plan.json. Errors: neither of the first two
/// exists, or they cannot be read (kNoPermission: not by this user).
[[nodiscard]] Result<RunView> read_run(const std::string& path);

/// The same without the plan, for repeated queries: name, ranks and duration are known only from a
/// summary.
[[nodiscard]] Result<RunView> read_run_state(const std::string& path);

/// "node0:3", index = rank; empty if there is no plan.
[[nodiscard]] std::vector<std::string> rank_labels(const std::string& run_path);

/// The names in a list of plan.json: "passed" has those of `env_pass`, "secret" those of
/// `env_secret`.
[[nodiscard]] std::vector<std::string> variables_of(const std::string& run_path,
                                                    const std::string& key);

/// The attempts that have a folder, ascending.
[[nodiscard]] std::vector<std::uint32_t> attempts_of(const std::string& run_path);

/// Lines for the user that say where the output in `left` is, each with a newline; empty: there is
/// none.
[[nodiscard]] std::string left_text(const std::vector<LeftOutput>& left);

/// How it ended, or its state: "done in 3.2 s", "lost: its launcher was killed",
/// "running since 3 min 12 s", "was started on gpu03; its state is not known on this machine".
[[nodiscard]] std::string state_text(const RunView& view);

}  // namespace dlaunch
