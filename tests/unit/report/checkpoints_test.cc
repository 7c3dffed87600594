#include "report/checkpoints.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::seconds;

const WallTime kEnd{std::chrono::sys_days(std::chrono::year(2026) / 11 / 26)};
const std::vector<std::string> kPatterns{"ckpt/*", "more/*"};

CheckpointItem item(const char* path, int age_s, std::uint64_t bytes) {
  return {path, bytes, 1, kEnd - seconds(age_s)};
}

CheckpointsFound found(std::vector<CheckpointItem> written, std::vector<CheckpointItem> older = {}) {
  return {kEnd, std::move(written), 0, std::move(older), ""};
}

std::string text_of(const CheckpointTally& tally) {
  return checkpoint_text(tally.account(), kPatterns);
}

TEST(Checkpoints, TheLatestOneIsTold) {
  CheckpointTally tally;
  tally.add("a", found({item("ckpt/2", 3, 2000)}));
  EXPECT_EQ(text_of(tally), "saved ckpt/2 (2.0 kB) 3.0 s before the end");
  tally.add("b", found({item("ckpt/3", 1, 500), item("ckpt/1", 60, 1000)}));
  EXPECT_EQ(text_of(tally),
            "saved ckpt/3 (500 bytes) 1.0 s before the end, the last of 3 in this attempt (3.5 kB)");
}

TEST(Checkpoints, AFileThatAllNodesSeeCountsOnce) {
  CheckpointTally tally;
  for (const char* node : {"a", "b", "c"}) tally.add(node, found({item("ckpt/2", 3, 2000)}));
  EXPECT_EQ(tally.account().bytes, 2000U);
  EXPECT_EQ(tally.account().written, 1U);
}

TEST(Checkpoints, PartsOnTheDisksOfNodesAreOneCheckpoint) {
  CheckpointTally tally;
  tally.add("a", found({item("ckpt/2", 4, 2000)}));
  tally.add("b", found({item("ckpt/2", 3, 2000)}));
  EXPECT_EQ(text_of(tally), "saved ckpt/2 (4.0 kB) 3.0 s before the end");
}

TEST(Checkpoints, TheLookOfEachNodeIsItsEnd) {
  CheckpointTally tally;
  CheckpointsFound ahead = found({item("ckpt/2", 0, 2000)});
  ahead.at = kEnd - seconds(7);  // a clock behind that of the file system
  tally.add("a", ahead);
  EXPECT_EQ(tally.account().latest->age, seconds(0));
}

TEST(Checkpoints, WithoutOneTheNewestFromBeforeIsTold) {
  CheckpointTally tally;
  EXPECT_EQ(text_of(tally),
            "no checkpoint was written in this attempt; nothing matches ckpt/*, more/*");
  tally.add("a", found({}, {item("ckpt/0", 7200, 1000)}));
  tally.add("b", found({}, {item("ckpt/1", 3600, 1000)}));
  EXPECT_EQ(text_of(tally),
            "no checkpoint was written in this attempt; the last one is ckpt/1 "
            "(1.0 kB), written 1 h 00 min before the end");
}

TEST(Checkpoints, WhatMayBeMissingIsTold) {
  CheckpointTally tally;
  CheckpointsFound blind = found({});
  blind.problem = "could not look for checkpoints (no answer in time)";
  tally.add("a", blind);
  tally.lacks("b was lost");
  EXPECT_EQ(text_of(tally),
            "no checkpoint was written in this attempt; nothing matches ckpt/*, "
            "more/*; a: could not look for checkpoints (no answer in time); b was lost");
}

TEST(Checkpoints, NamesCannotDrawOnTheTerminal) {
  CheckpointTally tally;
  tally.add("a", found({item("ckpt/\x1b[2J\n", 1, 1)}));
  EXPECT_EQ(text_of(tally).find_first_of("\x1b\n"), std::string::npos);
}

TEST(Checkpoints, AsJson) {
  CheckpointTally tally;
  tally.add("a", found({item("ckpt/2", 3, 2000)}));
  std::string text;
  JsonText json(text);
  json.begin_object();
  write_checkpoint(json, tally.account());
  json.end_object();
  EXPECT_EQ(text, R"({"written": 1, "bytes": 2000, "latest": {"path": "ckpt/2", )"
                         R"("bytes": 2000, "age_s": 3}, "older": null, "problems": []})");
}

TEST(Checkpoints, ANewOneIsCompleteWhenNothingHasChangedSinceTheLookBefore) {
  const NodeId node(0);
  const CheckpointsOfNodes before{{node, {item("1", 9, 10)}}};
  const CheckpointsOfNodes part{{node, {item("2", 2, 5), item("1", 9, 10)}}};
  const CheckpointsOfNodes whole{{node, {item("2", 1, 10), item("1", 9, 10)}}};
  EXPECT_FALSE(is_saved(before, before, before));
  EXPECT_FALSE(is_saved(before, before, part));
  EXPECT_FALSE(is_saved(before, part, whole));
  EXPECT_TRUE(is_saved(before, whole, whole));
  const CheckpointsOfNodes over{{node, {item("1", 1, 10)}}};  // written over under its name
  EXPECT_TRUE(is_saved(before, over, over));
  EXPECT_FALSE(is_saved(before, {}, {}));
}

}  // namespace
}  // namespace dlaunch
