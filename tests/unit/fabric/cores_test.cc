#include <sched.h>

#include <gtest/gtest.h>

#include "fixture_tree.h"

namespace dlaunch::fabric {
namespace {

using Cores = std::vector<CpuCore>;

Cores read(const FixtureTree& tree, const std::string& allowed) {
  return read_cores(tree.root(), parse_cpu_list(allowed));
}

TEST(Cores, OneSocketTwoCores) {
  FixtureTree tree;
  tree.cpu(0, "0");
  tree.cpu(1, "1");
  tree.numa(0, "0-1");
  tree.online("0-1");
  EXPECT_EQ(read(tree, "0-1"), (Cores{{0, {0}, false}, {0, {1}, false}}));
}

TEST(Cores, TwoSocketsInterleavedWithTwoThreadsEach) {
  FixtureTree tree;
  interleaved_machine(tree, 2, 4);
  EXPECT_EQ(read(tree, "0-15"), (Cores{{0, {0, 8}, false},
                                       {0, {2, 10}, false},
                                       {0, {4, 12}, false},
                                       {0, {6, 14}, false},
                                       {1, {1, 9}, false},
                                       {1, {3, 11}, false},
                                       {1, {5, 13}, false},
                                       {1, {7, 15}, false}}));
}

TEST(Cores, OnlyAllowedThreadsCount) {
  FixtureTree tree;
  interleaved_machine(tree, 2, 4);
  // One core whole, one with its second thread only, one of the other socket.
  EXPECT_EQ(read(tree, "0,8,10,3"), (Cores{{0, {0, 8}, false}, {0, {10}, false}, {1, {3}, false}}));
}

TEST(Cores, OfflineCpusAreNotThere) {
  FixtureTree tree;
  interleaved_machine(tree, 1, 4);
  tree.online("0-2,4-7");
  tree.remove("/sys/devices/system/cpu/cpu3/topology");  // as the kernel does it
  tree.cpu(7, "7");                                      // the sibling is alone now
  EXPECT_EQ(read(tree, "0-7"),
            (Cores{{0, {0, 4}, false}, {0, {1, 5}, false}, {0, {2, 6}, false}, {0, {7}, false}}));
}

TEST(Cores, OldKernelsHaveAnotherName) {
  FixtureTree tree;
  for (const int cpu : {0, 1}) tree.cpu(cpu, "0-1", "thread_siblings_list");
  EXPECT_EQ(read(tree, "0-1"), (Cores{{0, {0, 1}, false}}));
}

TEST(Cores, WithoutSysEveryCpuIsACore) {
  FixtureTree tree;
  EXPECT_EQ(read(tree, "4,2"), (Cores{{0, {2}, false}, {0, {4}, false}}));
  EXPECT_EQ(read_cores(tree.root() + "/nowhere", {1}), (Cores{{0, {1}, false}}));
  EXPECT_EQ(read_cores(tree.root(), {}), Cores{});
  EXPECT_EQ(read_cores(tree.root(), {5, -1, 5}), (Cores{{0, {5}, false}}));
}

TEST(Cores, NonsenseInAFileCostsOnlyThatFile) {
  FixtureTree tree;
  tree.cpu(0, "rubbish");
  tree.cpu(1, "2-3");  // does not name itself
  tree.cpu(2, "2-3");
  tree.cpu(3, "2-3");
  tree.numa(0, "0-x");
  tree.numa(1, "2-3");
  tree.online("rubbish");
  EXPECT_EQ(read(tree, "0-3"), (Cores{{0, {0}, false}, {0, {1}, false}, {1, {2, 3}, false}}));
}

TEST(Cores, MemoryOnlyNodesAndHighNodeNumbers) {
  FixtureTree tree;
  for (const int cpu : {0, 1}) tree.cpu(cpu, std::to_string(cpu));
  tree.numa(0, "0");
  tree.numa(1, "");
  tree.numa(10, "1");
  EXPECT_EQ(read(tree, "0-1"), (Cores{{0, {0}, false}, {10, {1}, false}}));
}

TEST(Cores, AMachineOf256Threads) {
  FixtureTree tree;
  interleaved_machine(tree, 2, 64);
  const Cores cores = read(tree, "0-255");
  ASSERT_EQ(cores.size(), 128U);
  EXPECT_EQ(cores[63], (CpuCore{0, {126, 254}, false}));
  EXPECT_EQ(cores[64], (CpuCore{1, {1, 129}, false}));
}

TEST(Cores, ThisMachine) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> allowed;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
  }
  std::vector<int> seen;
  for (const CpuCore& core : read_cores("", allowed)) {
    seen.insert(seen.end(), core.threads.begin(), core.threads.end());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, allowed);
  EXPECT_GT(read_memory_bytes(""), std::uint64_t{16} << 20);
}

TEST(Memory, MemTotalInBytes) {
  FixtureTree tree;
  EXPECT_EQ(read_memory_bytes(tree.root()), 0U);
  tree.file("/proc/meminfo", "MemTotal:       2113469824 kB\nMemFree:        1000 kB\n");
  EXPECT_EQ(read_memory_bytes(tree.root()), std::uint64_t{2113469824} * 1024);
  tree.file("/proc/meminfo", "MemTotal: lots\n");
  EXPECT_EQ(read_memory_bytes(tree.root()), 0U);
}

}  // namespace
}  // namespace dlaunch::fabric
