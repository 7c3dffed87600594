#include "node/watch/gpu_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

TEST(GpuSamples, ALineOfNvidiaSmi) {
  const auto gpu = parse_gpu_sample(
      "3, GPU-8932f937-d72c-4106-c12f-20bd9faed9f6, 97, 31234, Not Active, Active, Active, "
      "Active, 88, 945, 1980, 2");
  ASSERT_TRUE(gpu);
  GpuSample expected{3, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 97, 31234 * kMebi,
                     "heat, the power supply"};
  expected.temperature_c = 88;
  expected.sm_mhz = 945;
  expected.most_sm_mhz = 1980;
  expected.memory_errors = 2;
  EXPECT_EQ(*gpu, expected);
}

TEST(GpuSamples, ALineOfDlaunchNvmlHasErrorsOfLinksToo) {
  const auto gpu = parse_gpu_sample(
      "0, GPU-1, 5, 1, Not Active, Not Active, Not Active, Active, 40, 1980, 1980, 0, 7, 9");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->pcie_errors, 7U);
  EXPECT_EQ(gpu->nvlink_errors, 9U);
  EXPECT_EQ(gpu->slowed_by, "its own power draw");
  EXPECT_FALSE(gpu->is_lost);
}

TEST(GpuSamples, WhatADriverDoesNotTellIsUnknown) {
  const auto gpu = parse_gpu_sample(
      "0, GPU-1, [N/A], [Not Supported], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(*gpu, (GpuSample{0, "GPU-1", -1, 0, ""}));
}

TEST(GpuSamples, ALostGpu) {
  const auto gpu = parse_gpu_sample(
      "1, GPU-1, [GPU is lost], [GPU is lost], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], "
      "[N/A], [N/A], 3");
  ASSERT_TRUE(gpu);
  EXPECT_TRUE(gpu->is_lost);
  EXPECT_EQ(gpu->percent, -1);
  EXPECT_EQ(gpu->nvlink_errors, 3U);
}

TEST(GpuSamples, AnythingElseIsNoLine) {
  const std::string line = ", GPU-1, 1, 1, Active, Active, Active, Active, 1, 1, 1, 1";
  EXPECT_TRUE(parse_gpu_sample("0" + line));
  EXPECT_FALSE(parse_gpu_sample(""));
  EXPECT_FALSE(parse_gpu_sample("NVIDIA-SMI has failed because it couldn't communicate"));
  EXPECT_FALSE(parse_gpu_sample("Field \"clocks_event_reasons.hw_slowdown\" is not a valid field"));
  EXPECT_FALSE(parse_gpu_sample("x" + line));
  EXPECT_FALSE(parse_gpu_sample("0" + line + ", 1"));
  EXPECT_FALSE(parse_gpu_sample("0" + line + ", 1, 1, more"));
}

TEST(GpuSamples, ASourceThatEndsHasASuccessor) {
  using enum GpuSource;
  EXPECT_EQ(source_after(nvml, false), smi);
  EXPECT_EQ(source_after(nvml, true), smi) << "dlaunch-nvml was killed";
  EXPECT_EQ(source_after(smi, false), smi_with_old_names);
  EXPECT_EQ(source_after(smi, true), none) << "its names were right";
  EXPECT_EQ(source_after(smi_with_old_names, false), none);
}

TEST(GpuSamples, WhatIsWrongWithAGpu) {
  GpuSample before{2, "GPU-1", 0, 0, ""};
  before.memory_errors = 5;
  before.pcie_errors = 100;
  before.nvlink_errors = 0;
  GpuSample now = before;
  const auto remarks = [&](int seconds) {
    return gpu_remarks({&now, 1}, {&before, 1}, std::chrono::seconds(seconds));
  };
  EXPECT_THAT(remarks(10), testing::IsEmpty()) << "errors of earlier jobs";
  now.pcie_errors = 117;
  EXPECT_THAT(remarks(10), testing::ElementsAre("GPU 2: 17 PCIe errors since the ranks started"));
  EXPECT_THAT(remarks(130), testing::IsEmpty()) << "8 per minute are usual";
  now.memory_errors = 6;
  now.nvlink_errors = 1;
  now.slowed_by = "heat";
  EXPECT_THAT(remarks(130),
              testing::ElementsAre("GPU 2: its clocks are held down: heat",
                                   "GPU 2: 1 uncorrected memory error since the ranks started",
                                   "GPU 2: 1 NVLink error since the ranks started"));
  now = before;
  now.slowed_by = "heat";
  now.temperature_c = 91;
  EXPECT_THAT(remarks(10), testing::ElementsAre("GPU 2: its clocks are held down: heat (91 C)"));
  now.sm_mhz = 945;
  now.most_sm_mhz = 1980;
  EXPECT_THAT(remarks(10), testing::ElementsAre("GPU 2: its clocks are held down: heat (91 C, 945 "
                                                "of 1980 MHz)"));
  now = *parse_gpu_sample("2, GPU-1" + [] {
    std::string cells;
    for (int i = 0; i < 10; ++i) cells += ", [GPU requires reset]";
    return cells;
  }());
  EXPECT_THAT(remarks(10), testing::ElementsAre("GPU 2 needs a reset before anything can use it"));
  now = {2, "", -1, 0, "", true};
  EXPECT_THAT(remarks(10),
              testing::ElementsAre("GPU 2 is lost: the driver cannot reach it any more"));
}

TEST(GpuSamples, TheCommandNamesTheReasonsAsTheDriverDoes) {
  const auto now = gpu_samples_command(10, false);
  EXPECT_THAT(now[1], testing::HasSubstr(",clocks_event_reasons.hw_thermal_slowdown"));
  EXPECT_THAT(gpu_samples_command(10, true)[1],
              testing::HasSubstr(",clocks_throttle_reasons.hw_thermal_slowdown"));
  EXPECT_EQ(now.back(), "10");
}

TEST(GpuSamples, ARankHasTheGpusThatItSees) {
  const std::vector<GpuSample> gpus{{0, "GPU-a", 10, kMebi, ""},
                                    {1, "GPU-b", 50, 2 * kMebi, ""},
                                    {2, "GPU-c", 90, 4 * kMebi, ""}};
  const auto use = [&](std::optional<std::string> visible, std::uint32_t local_rank,
                       bool is_alone) {
    RankPulse rank;
    add_gpu_use(gpus, visible, local_rank, is_alone, rank);
    return std::pair(rank.gpu_percent, rank.gpu_memory / kMebi);
  };
  EXPECT_EQ(use("2", 5, false), std::pair(90, 4UL));
  EXPECT_EQ(use("GPU-b", 0, false), std::pair(50, 2UL));
  EXPECT_EQ(use(std::nullopt, 1, false), std::pair(50, 2UL)) << "that of its local rank";
  EXPECT_EQ(use("2,0", 1, false), std::pair(10, 1UL));
  EXPECT_EQ(use(std::nullopt, 0, true), std::pair(90, 7UL)) << "all: the busiest, and the sum";
  EXPECT_EQ(use("", 0, true), std::pair(-1, 0UL));
  EXPECT_EQ(use("0,-1,2", 0, true), std::pair(10, 1UL)) << "the list ends at what is no GPU";
}

}  // namespace
}  // namespace dlaunch
