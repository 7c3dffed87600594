#include "report/stack_tree.h"

#include <gtest/gtest.h>

#include "stack_builder.h"

namespace dlaunch {
namespace {

const StackFrame kMain = python("main", "train.py", 60);
const StackFrame kStep = python("step", "train.py", 41);
const StackFrame kReduce = python("all_reduce", "c10d.py", 100);
const StackFrame kLoad = python("__next__", "data.py", 88);

std::vector<std::uint32_t> ranks_of(const StackTree& tree) {
  std::vector<std::uint32_t> ranks;
  for (const auto& member : tree.members) ranks.push_back(member.rank.value);
  return ranks;
}

TEST(StackTree, SharedFramesStandOnceAndTheLargerBranchComesFirst) {
  const auto groups = merge_stacks({standing(0, "a", {kLoad, kStep, kMain}),
                                    standing(1, "a", {kReduce, kStep, kMain}),
                                    standing(2, "b", {kReduce, kStep, kMain})});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].who, "");
  ASSERT_EQ(groups[0].trees.size(), 1U);
  const StackTree& tree = groups[0].trees[0];
  EXPECT_EQ(ranks_of(tree), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(tree.frames, (std::vector{kMain, kStep}));
  EXPECT_EQ(tree.doing, "");
  ASSERT_EQ(tree.branches.size(), 2U);
  EXPECT_EQ(ranks_of(tree.branches[0]), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(tree.branches[0].frames, std::vector{kReduce});
  EXPECT_EQ(tree.branches[0].doing, "sleeping");
  EXPECT_EQ(ranks_of(tree.branches[1]), std::vector<std::uint32_t>{0});
}

TEST(StackTree, AStackThatEndsWhereAnotherGoesOnIsABranch) {
  const auto groups = merge_stacks(
      {standing(0, "a", {kStep, kMain}, ""), standing(1, "a", {kReduce, kStep, kMain})});
  const StackTree& tree = groups[0].trees[0];
  ASSERT_EQ(tree.branches.size(), 2U);
  EXPECT_TRUE(tree.branches[0].frames.empty());
  EXPECT_EQ(tree.branches[1].frames, std::vector{kReduce});
}

TEST(StackTree, WhatTheyDoThereDividesThem) {
  RankStacks stopped = standing(1, "a", {kStep, kMain});
  stopped.processes[0].threads[0].state = "T";
  const auto groups = merge_stacks({standing(0, "a", {kStep, kMain}), stopped});
  const StackTree& tree = groups[0].trees[0];
  ASSERT_EQ(tree.branches.size(), 2U);
  EXPECT_EQ(tree.branches[1].doing, "stopped by a signal");
}

TEST(StackTree, ThreadsAndChildrenHaveGroupsOfTheirOwn) {
  RankStacks rank = standing(0, "a", {kMain});
  rank.processes[0].threads.push_back({2, "loader", "S", "", {kLoad}, 3});
  rank.processes[0].threads.push_back({3, "idle", "S", "waiting for a lock", {}, 1});
  rank.processes.push_back({7, 1000, "python w.py", {{7, "", "Z", "", {}, 1}}});
  const auto groups = merge_stacks({rank});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[1].who, "child python w.py");
  EXPECT_EQ(groups[1].trees[0].doing, "ended, but its parent has not reaped it");
  EXPECT_EQ(groups[2].who, "thread loader");
  EXPECT_EQ(groups[2].trees[0].members[0].threads, 3U);
}

TEST(StackTree, AShellThatWaitsStandsForItsOnlyChild) {
  RankStacks rank;
  rank.processes = {{1, 0, "sh -c", {{1, "", "S", "waiting for a child process", {}, 1}}},
                    {2, 1, "python", {{2, "", "S", "sleeping", {kMain}, 1}}}};
  EXPECT_EQ(working_process(rank)->pid, 2);
  ASSERT_EQ(merge_stacks({rank}).size(), 1U);
  rank.processes.push_back({3, 1, "tee", {{3, "", "S", "reading a pipe", {}, 1}}});
  EXPECT_EQ(working_process(rank)->pid, 1) << "which of two it is for is not known";
  EXPECT_EQ(working_process({}), nullptr);
}

TEST(StackTree, NoRanksNoGroups) {
  EXPECT_TRUE(merge_stacks({}).empty());
  EXPECT_TRUE(merge_stacks({RankStacks{}}).empty());
}

}  // namespace
}  // namespace dlaunch
