// Removes the folders of finished runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/time.h"
#include "runs/run_index.h"

namespace dlaunch {

/// Which runs are removed: those that match every condition that is set.
struct PruneRule {
  std::optional<std::chrono::nanoseconds> older;  // nothing was written about them for this long
  std::optional<std::size_t> keep;                // how many of the newest to keep, in any state
  bool dry_run = false;                           // only find out what would be removed
};

struct PrunedRun {
  RunView run;
  std::uint64_t bytes = 0;  // freed on the disk
  std::string kept;         // why it is kept although it matches; empty: it is removed
  bool failed = false;      // `kept` is an error: some files of the run may be gone
};

struct Pruning {
  std::vector<PrunedRun> runs;      // newest first; those that match
  std::vector<std::string> notes;   // folders that were skipped, and why
  std::optional<Error> unreadable;  // a folder of run folders that cannot be read
};

/// Why a run must stay: it has not ended, or this machine cannot tell. Empty: the run may be
/// removed. `last`: when something was last written about it. `boot`: when this machine booted, or
/// a day ago if that is earlier; a run that was written to since then may still be running. Pure.
[[nodiscard]] std::string why_kept(const RunView& run, WallTime last, WallTime boot);

/// Removes run folders, each with a lock held (flock(2), where the file system has it), so that two
/// processes never work on the same one. Keeps links, folders of other users, and anything that is
/// not the folder of a run. A process that works for long on the folder of a finished run holds a
/// shared lock on it. If a removal is interrupted, what is left still counts as that run, and the
/// next call removes it.
[[nodiscard]] Pruning prune_runs(const RunFolders& folders, const PruneRule& rule);

}  // namespace dlaunch
