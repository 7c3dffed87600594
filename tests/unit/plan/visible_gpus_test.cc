#include "plan/visible_gpus.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> ids(const std::optional<std::string>& variable, int gpus = 8) {
  std::vector<std::string> out;
  for (const VisibleGpu& gpu : visible_gpus(test::fake_node("n", {.gpus = gpus}).facts, variable))
    out.push_back(gpu.id);
  return out;
}

// Rules: CUDA C++ Programming Guide, "CUDA Environment Variables", CUDA_VISIBLE_DEVICES.

TEST(VisibleGpus, UnsetMeansAll) {
  EXPECT_THAT(ids(std::nullopt, 3), ElementsAre("0", "1", "2"));
}

TEST(VisibleGpus, IndicesInTheOrderGiven) {
  EXPECT_THAT(ids("3,1, 2"), ElementsAre("3", "1", "2"));
}

TEST(VisibleGpus, ListEndsAtTheFirstInvalidEntry) {
  EXPECT_THAT(ids("0,2,-1,1"), ElementsAre("0", "2"));
  EXPECT_THAT(ids("0,8,1"), ElementsAre("0"));
  EXPECT_THAT(ids("1,x,2"), ElementsAre("1"));
  EXPECT_THAT(ids("1,,2"), ElementsAre("1"));
  EXPECT_THAT(ids("1,2x,3"), ElementsAre("1"));
}

TEST(VisibleGpus, NoneAtAll) {
  EXPECT_THAT(ids(""), IsEmpty());
  EXPECT_THAT(ids("-1"), IsEmpty());
  EXPECT_THAT(ids("NoDevFiles"), IsEmpty());
}

TEST(VisibleGpus, UuidsAndTheirUnambiguousBeginnings) {
  EXPECT_THAT(ids("GPU-c0000000-1111-2222-3333-444444444444,GPU-a"),
              ElementsAre("GPU-c0000000-1111-2222-3333-444444444444", "GPU-a"));
  EXPECT_THAT(ids("GPU-b,GPU-z,GPU-a"), ElementsAre("GPU-b")) << "no such GPU";
  EXPECT_THAT(ids("GPU-"), IsEmpty()) << "eight GPUs begin so";
  EXPECT_THAT(ids("GPU-", 1), ElementsAre("GPU-")) << "one GPU begins so";
}

TEST(VisibleGpus, AGpuNamedTwiceEndsTheList) {
  EXPECT_THAT(ids("0,0,1"), ElementsAre("0"));
  EXPECT_THAT(ids("0,GPU-a,1"), ElementsAre("0")) << "index 0 and GPU-a... are the same";
}

TEST(VisibleGpus, MigSlicesAreTakenAsTheyAre) {
  const NodeFacts facts = test::fake_node("n", {.gpus = 2, .numa_nodes = 2}).facts;
  const auto slices =
      visible_gpus(facts, "MIG-GPU-b0000000-1111-2222-3333-444444444444/1/0,MIG-5c1e");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0], (VisibleGpu{"MIG-GPU-b0000000-1111-2222-3333-444444444444/1/0", 1, true}))
      << "of GPU 1, NUMA 1";
  EXPECT_EQ(slices[1], (VisibleGpu{"MIG-5c1e", -1, true}));
}

TEST(VisibleGpus, NoGpusNoneToSee) {
  EXPECT_THAT(ids("0,1", 0), IsEmpty());
  EXPECT_THAT(ids(std::nullopt, 0), IsEmpty());
}

TEST(VisibleGpus, KnowTheirNumaNode) {
  const NodeFacts facts = test::fake_node("n", {.gpus = 8, .numa_nodes = 2}).facts;
  const auto gpus = visible_gpus(facts, "6,GPU-b");
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].numa, 1);  // GPUs 4-7 are at NUMA node 1
  EXPECT_EQ(gpus[1].numa, 0);
}

TEST(VisibleGpus, WithoutDriverFilesTheListIsTakenOnTrust) {
  const auto ids = [](std::string_view variable) {
    std::vector<std::string> out;
    for (const VisibleGpu& gpu : listed_gpus(variable)) out.push_back(gpu.id);
    return out;
  };
  EXPECT_EQ(ids("2,5"), (std::vector<std::string>{"2", "5"}));
  EXPECT_EQ(ids(" 0 ,GPU-8932,MIG-1,-1,3"), (std::vector<std::string>{"0", "GPU-8932", "MIG-1"}));
  EXPECT_TRUE(ids("-1").empty());
  EXPECT_TRUE(ids("").empty());
  EXPECT_EQ(ids("1,1"), (std::vector<std::string>{"1"}));
}

}  // namespace
}  // namespace dlaunch
