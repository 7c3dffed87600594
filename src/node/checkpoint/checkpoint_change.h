// What an attempt has written, judged by what was there at its start and what is there now. Pure.
#pragma once

#include <optional>
#include <vector>

#include "model/checkpoint.h"

namespace dlaunch {

struct CheckpointChange {
  std::vector<CheckpointItem> written;  // the newest first
  std::optional<CheckpointItem> older;  // the newest of the others
  bool operator==(const CheckpointChange&) const = default;
};

/// An item is written if it is new, has grown, or has a later time. If `before` is not whole, an
/// item that is not in it must also be from `begun` or later. Removed files are not a change.
[[nodiscard]] CheckpointChange change_of(const CheckpointList& before, const CheckpointList& now,
                                         WallTime begun);

/// `found` without what the ranks may have written during the look. The look at the start of an
/// attempt runs beside its ranks, from `begun` to `ended` by the clock that files get their times
/// from. `last`: what was there at the end of the previous attempt.
[[nodiscard]] CheckpointList before_ranks(CheckpointList found, const CheckpointList& last,
                                          WallTime begun, WallTime ended);

}  // namespace dlaunch
