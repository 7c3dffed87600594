// RunView: one run folder as it stands now, read back. Nothing in a run folder is trusted: what is
// damaged, foreign or too large is an error in one line, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "report/run_state.h"

namespace dlaunch {

/// EX_NOPERM of sysexits.h.
inline constexpr int kNoPermission = 77;

/// Where a node has stored what its ranks printed.
struct LeftOutput {
  std::string node;
  std::string folder;  // absolute, there
  std::vector<Rank> ranks;
  bool operator==(const LeftOutput&) const = default;
};

struct RunView {
  std::string id;
  std::string path;  // as it was asked for
  RunWitness witness;
  RunState state = RunState::lost;
  std::string name;                                  // of the job; empty: not known
  std::optional<std::uint32_t> ranks;                // not known before there is a plan
  std::optional<std::chrono::nanoseconds> duration;  // until now when it is live
  /// Of a lost run: what had not come home is there, unless its nodes were cleaned up since.
  std::vector<LeftOutput> left;
  std::string slurm_state;  // of its Slurm job, as Slurm says it ("RUNNING"); empty: not known
};

/// What to say of `path`, which could not be read for the reason `error` (errno): kNoPermission and
/// whose it is where that is why, else kUsage.
[[nodiscard]] Error cannot_read(const std::string& path, int error);

/// "YYYYMMDD-HHMMSS-xyz".
[[nodiscard]] bool is_run_id(std::string_view name);

/// Reads run.json, summary.json and, where those do not tell, plan.json. Errors: neither of the
/// first two is there, or they cannot be read (kNoPermission: not by this user).
[[nodiscard]] Result<RunView> read_run(const std::string& path);

/// The same without the plan, for those who look again and again: name, ranks and duration only
/// where a summary tells them.
[[nodiscard]] Result<RunView> read_run_state(const std::string& path);

/// "node0:3", index = rank; empty if there is no plan.
[[nodiscard]] std::vector<std::string> rank_labels(const std::string& run_path);

/// The attempts that have a folder, ascending.
[[nodiscard]] std::vector<std::uint32_t> attempts_of(const std::string& run_path);

/// Some lines for people, each with its end, that say where that is; empty: there is nothing.
[[nodiscard]] std::string left_text(const std::vector<LeftOutput>& left);

/// How it ended, or what is known of it: "done in 3.2 s", "lost: its launcher was killed",
/// "running since 3 min 12 s", "on gpu03, its state is not known from here".
[[nodiscard]] std::string state_text(const RunView& view);

}  // namespace dlaunch
