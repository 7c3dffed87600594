#include "plan/bind.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

const auto kAuto = Binding::Cpus::automatic;

NodeFacts facts_of(const test::NodeShape& shape) {
  return test::fake_node("n", shape).facts;
}
std::vector<int> no_homes(std::size_t ranks) {
  return std::vector<int>(ranks, -1);
}

// Rules: plan/bind.h.

TEST(Bind, CoresAreCutIntoContiguousBlocks) {
  const auto binding = bind_ranks(facts_of({.cores = 8}), no_homes(4), kAuto);
  EXPECT_THAT(binding.cpus, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5),
                                        ElementsAre(6, 7)));
  EXPECT_EQ(binding.note, "bound: 8 cores shared evenly");
}

TEST(Bind, OddCoresGoToTheFirstRanks) {
  EXPECT_THAT(bind_ranks(facts_of({.cores = 7}), no_homes(3), kAuto).cpus,
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4), ElementsAre(5, 6)));
}

TEST(Bind, ARankGetsAllHardwareThreadsOfItsCores) {
  // 4 cores with two threads each: core c has the logical CPUs c and c + 4.
  EXPECT_THAT(bind_ranks(facts_of({.cores = 4, .threads_per_core = 2}), no_homes(2), kAuto).cpus,
              ElementsAre(ElementsAre(0, 1, 4, 5), ElementsAre(2, 3, 6, 7)));
}

TEST(Bind, CoresAreNearTheGpu) {
  // 8 GPUs and 16 cores on 2 NUMA nodes: GPUs 0-3 and cores 0-7 at node 0.
  const auto binding =
      bind_ranks(facts_of({.cores = 16, .numa_nodes = 2}), {0, 0, 0, 0, 1, 1, 1, 1}, kAuto);
  EXPECT_THAT(binding.cpus, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5),
                                        ElementsAre(6, 7), ElementsAre(8, 9), ElementsAre(10, 11),
                                        ElementsAre(12, 13), ElementsAre(14, 15)));
  EXPECT_EQ(binding.note, "bound to cores near each rank's GPU");
}

TEST(Bind, GpuOrderMayRunAgainstCoreOrder) {
  // CUDA_VISIBLE_DEVICES=4,0: the first rank's GPU is at NUMA node 1.
  EXPECT_THAT(bind_ranks(facts_of({.cores = 4, .numa_nodes = 2}), {1, 0}, kAuto).cpus,
              ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
}

TEST(Bind, FourRanksOfOneNumaNodeShareIt) {
  EXPECT_THAT(
      bind_ranks(facts_of({.cores = 16, .numa_nodes = 2}), {0, 0, 0, 0}, kAuto).cpus,
      ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5), ElementsAre(6, 7)));
}

TEST(Bind, WhereTheHomeIsFullTheNextOneIsUsed) {
  // 3 ranks near NUMA node 0, which has 2 cores.
  EXPECT_THAT(bind_ranks(facts_of({.cores = 4, .numa_nodes = 2}), {0, 0, 0}, kAuto).cpus,
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2, 3)));
}

TEST(Bind, RanksWithoutGpuDoNotStraddleNumaNodes) {
  // 3 ranks on 2 x 8 cores: evenly would be 5, 5, 6, and the second one on both nodes.
  EXPECT_THAT(bind_ranks(facts_of({.cores = 16, .numa_nodes = 2}), no_homes(3), kAuto).cpus,
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7),
                          ElementsAre(8, 9, 10, 11, 12, 13, 14, 15)));
}

TEST(Bind, ALoneRankGetsTheWholeNode) {
  EXPECT_THAT(bind_ranks(facts_of({.cores = 4, .numa_nodes = 2}), no_homes(1), kAuto).cpus,
              ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(Bind, FewerRanksThanNumaNodesGetWholeOnes) {
  EXPECT_THAT(bind_ranks(facts_of({.cores = 8, .numa_nodes = 4}), no_homes(2), kAuto).cpus,
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
}

TEST(Bind, TakenCoresAreNotUsed) {
  NodeFacts facts = facts_of({.cores = 6});
  facts.cores[0].taken = facts.cores[3].taken = true;
  const auto binding = bind_ranks(facts, no_homes(2), kAuto);
  EXPECT_THAT(binding.cpus, ElementsAre(ElementsAre(1, 2), ElementsAre(4, 5)));
  EXPECT_EQ(binding.note, "bound: 4 cores shared evenly, other runs hold 2");
}

TEST(Bind, NobodyIsBoundWhenRanksExceedCores) {
  // docs/reference/variables.md: no pinning when ranks exceed cores.
  const auto binding =
      bind_ranks(facts_of({.cores = 2, .threads_per_core = 2}), no_homes(4), kAuto);
  EXPECT_EQ(binding.cpus.size(), 4U);
  EXPECT_THAT(binding.cpus, Each(IsEmpty()));
  EXPECT_EQ(binding.note, "not bound: 4 ranks but 2 cores") << "hardware threads do not count";
}

TEST(Bind, NobodyIsBoundWhenRanksExceedFreeCores) {
  NodeFacts facts = facts_of({.cores = 4});
  facts.cores[0].taken = facts.cores[1].taken = facts.cores[2].taken = true;
  const auto binding = bind_ranks(facts, no_homes(2), kAuto);
  EXPECT_THAT(binding.cpus, Each(IsEmpty()));
  EXPECT_EQ(binding.note, "not bound: 2 ranks but 1 free core of 4, other runs hold the rest");
}

TEST(Bind, NobodyIsBoundWhenTheJobSaysSo) {
  const auto binding = bind_ranks(facts_of({.cores = 8}), no_homes(2), Binding::Cpus::none);
  EXPECT_THAT(binding.cpus, Each(IsEmpty()));
  EXPECT_EQ(binding.note, "not bound: binding.cpus is none");
}

TEST(Threads, AreCoresByRanksRoundedDown) {
  // docs/reference/variables.md: OMP_NUM_THREADS = max(1, floor(cores / ranks on the node)). Physical cores.
  EXPECT_EQ(threads_per_rank(facts_of({.cores = 8, .threads_per_core = 2}), 3), 2);
  EXPECT_EQ(threads_per_rank(facts_of({.cores = 2}), 4), 1);
  EXPECT_EQ(threads_per_rank(facts_of({.cores = 0}), 4), 1);
}

TEST(Threads, CountFreeCoresAsLongAsThereIsOneForEachRank) {
  NodeFacts facts = facts_of({.cores = 8});
  for (int i = 0; i < 4; ++i) facts.cores[static_cast<std::size_t>(i)].taken = true;
  EXPECT_EQ(threads_per_rank(facts, 2), 2);  // 4 free / 2
  EXPECT_EQ(threads_per_rank(facts, 5), 1);  // more ranks than free cores: all 8 / 5
}

}  // namespace
}  // namespace dlaunch
