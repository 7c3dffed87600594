// Which checkpoints an attempt has written, by comparing those at its start with those now. Pure.
#pragma once

#include <optional>
#include <vector>

#include "model/checkpoint.h"

namespace dlaunch {

struct CheckpointChange {
  std::vector<CheckpointItem> written;  // the newest first
  std::optional<CheckpointItem> older;  // the newest item that was not written
  bool operator==(const CheckpointChange&) const = default;
};

/// An item is written if it is new, has grown, or has a later time. If `before` is incomplete, an
/// item that it lacks must also have a time of `begun` or later. Removed files are not a change.
[[nodiscard]] CheckpointChange change_of(const CheckpointList& before, const CheckpointList& now,
                                         WallTime begun);

/// `found` without items that the ranks may have written during the scan: the scan at the start of
/// an attempt overlaps with its ranks. It ran from `begun` to `ended`, by the clock from which
/// files get their times. `last`: the items at the end of the previous attempt, which are kept.
[[nodiscard]] CheckpointList before_ranks(CheckpointList found, const CheckpointList& last,
                                          WallTime begun, WallTime ended);

}  // namespace dlaunch
