#include "node/checkpoint/checkpoint_change.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const WallTime kBegun{std::chrono::sys_days(std::chrono::year(2026) / 11 / 26)};

CheckpointItem item(const char* path, WallTime written, std::uint64_t bytes = 10) {
  return {path, bytes, 1, written};
}

TEST(CheckpointChange, WhatIsNewOrHasGrownOrIsLaterIsWritten) {
  const WallTime old = kBegun - seconds(100);
  const CheckpointList before{{item("grown", old), item("later", old), item("same", old)}, true};
  const CheckpointItem grown = item("grown", old, 11);
  const CheckpointItem later = item("later", kBegun + seconds(1));
  const CheckpointItem moved_here = item("new", old - seconds(1));  // mv keeps its time
  const CheckpointChange change =
      change_of(before, {{later, grown, item("same", old), moved_here}, true}, kBegun);
  EXPECT_EQ(change.written, (std::vector{later, grown, moved_here}));
  EXPECT_EQ(change.older, item("same", old));
}

TEST(CheckpointChange, RemovedAndSmallerFilesAreNoCheckpoint) {
  const CheckpointList before{{item("a", kBegun - seconds(1)), item("b", kBegun - seconds(2))},
                              true};
  const CheckpointItem smaller = item("a", kBegun - seconds(1), 9);
  EXPECT_EQ(change_of(before, {{smaller}, true}, kBegun), (CheckpointChange{{}, smaller}));
  EXPECT_EQ(change_of(before, {}, kBegun), CheckpointChange{});
}

TEST(CheckpointChange, WhereNotAllIsKnownOfBeforeTheTimeDecides) {
  const CheckpointItem old = item("old", kBegun - seconds(1));
  const CheckpointItem fresh = item("fresh", kBegun);
  EXPECT_EQ(change_of({{}, false}, {{fresh, old}, true}, kBegun),
            (CheckpointChange{{fresh}, old}));
}

TEST(CheckpointChange, WhatRanksMayHaveWrittenDuringTheFirstLookIsNotFromBefore) {
  const WallTime ended = kBegun + milliseconds(50);
  const CheckpointItem old = item("old", kBegun - milliseconds(1));
  const CheckpointItem ahead = item("of-a-clock-ahead", ended + milliseconds(1));
  const CheckpointList found{{ahead, item("b", ended), item("a", kBegun), old}, true};
  EXPECT_EQ(before_ranks(found, {}, kBegun, ended).items, (std::vector{ahead, old}));
  EXPECT_EQ(before_ranks(found, found, kBegun, ended).items, found.items)
      << "all of them stood there when the attempt before had ended";
}

}  // namespace
}  // namespace dlaunch
