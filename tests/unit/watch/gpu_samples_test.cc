#include "node/watch/gpu_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

TEST(GpuSamples, ALineOfTheReport) {
  const auto gpu = parse_gpu_sample(
      "3, GPU-8932f937-d72c-4106-c12f-20bd9faed9f6, 97, 31234, Not Active, Active, Active");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(*gpu, (GpuSample{3, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 97, 31234 * kMebi,
                             "heat, the power supply"}));
}

TEST(GpuSamples, WhatADriverDoesNotTellIsUnknown) {
  const auto gpu = parse_gpu_sample("0, GPU-1, [N/A], [Not Supported], [N/A], [N/A], [N/A]");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(*gpu, (GpuSample{0, "GPU-1", -1, 0, ""}));
}

TEST(GpuSamples, AnythingElseIsNoLine) {
  EXPECT_FALSE(parse_gpu_sample(""));
  EXPECT_FALSE(parse_gpu_sample("NVIDIA-SMI has failed because it couldn't communicate"));
  EXPECT_FALSE(parse_gpu_sample("Field \"clocks_event_reasons.hw_slowdown\" is not a valid field"));
  EXPECT_FALSE(parse_gpu_sample("x, GPU-1, 1, 1, Active, Active, Active"));
  EXPECT_FALSE(parse_gpu_sample("0, GPU-1, 1, 1, Active, Active, Active, more"));
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
