// What an attempt has written, from what stood there at its start and what stands there now. Pure.
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

/// An item is written if it is new, has grown, or has a later time. Where `before` is not whole, one
/// that is not in it must also be from `begun` or later. Removed files are no change.
[[nodiscard]] CheckpointChange change_of(const CheckpointList& before, const CheckpointList& now,
                                         WallTime begun);

/// The look at the start of an attempt, which began when its ranks did and took from `begun` to
/// `ended` by the clock of files: without what they may have written meanwhile. `last`: what stood
/// there at the end of the attempt before.
[[nodiscard]] CheckpointList before_ranks(CheckpointList found, const CheckpointList& last,
                                          WallTime begun, WallTime ended);

}  // namespace dlaunch
