#include "measure/figures/operation.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using enum Operation;

TEST(Operation, HasTheNamesOfTheLibraryAndOfNcclTests) {
  for (const Operation operation : all_operations())
    EXPECT_EQ(operation_named(name_of(operation)), operation);
  EXPECT_EQ(operation_named("alltoall"), all_to_all);
  EXPECT_EQ(operation_named("sendrecv"), send_recv);
  EXPECT_EQ(operation_named("allreduce"), all_reduce);
  EXPECT_EQ(operation_named("all-reduce"), std::nullopt);
  EXPECT_EQ(operation_named(""), std::nullopt);
}

// nccl-tests, doc/PERFORMANCE.md: "Bus bandwidth".
TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(all_reduce, 8), 2 * 7.0 / 8);
  EXPECT_DOUBLE_EQ(bus_factor(reduce_scatter, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(bus_factor(all_gather, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(bus_factor(all_to_all, 4), 3.0 / 4);
  EXPECT_DOUBLE_EQ(bus_factor(broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(reduce, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(send_recv, 8), 1);
}

TEST(BusFactor, OfOneRank) {
  EXPECT_EQ(bus_factor(all_reduce, 1), 0);
  EXPECT_EQ(bus_factor(all_gather, 1), 0);
}

TEST(AlgorithmBandwidth, IsInPowersOfTen) {
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(1'000'000'000, 1e6), 1);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(8, 2), 0.004);
  EXPECT_EQ(algorithm_bandwidth(8, 0), 0);
  EXPECT_EQ(algorithm_bandwidth(8, -1), 0);
}

TEST(Count, IsOfEachRankAndTheSizeOfTheLargerBuffer) {
  EXPECT_EQ(count_of(all_reduce, 1024, 4, 8), 256U);
  EXPECT_EQ(count_of(all_gather, 1024, 4, 8), 32U);
  EXPECT_EQ(size_of_count(all_gather, 32, 4, 8), 1024U);
  EXPECT_EQ(size_of_count(all_reduce, 256, 4, 8), 1024U);
}

TEST(Count, RoundsDownToWholeParts) {
  EXPECT_EQ(count_of(all_to_all, 1024, 4, 3), 85U);
  EXPECT_EQ(size_of_count(all_to_all, 85, 4, 3), 1020U);
  EXPECT_EQ(count_of(all_gather, 8, 4, 3), 0U);
  EXPECT_EQ(count_of(barrier, 1024, 4, 3), 0U);
}

TEST(LargestSize, HasAtMostSoManyElements) {
  constexpr std::uint64_t kMost = 2147483647;
  EXPECT_EQ(largest_size(all_reduce, kMost, 4, 8), (std::uint64_t{8} << 30U) - 4);
  EXPECT_EQ(largest_size(all_reduce, kMost, 1, 8), (std::uint64_t{2} << 30U) - 1);
  EXPECT_EQ(largest_size(all_gather, kMost, 4, 8), (std::uint64_t{8} << 30U) - 32) << "whole parts";
  EXPECT_EQ(largest_size(all_to_all, 7, 4, 8), 0U) << "not one element for each rank";
  EXPECT_EQ(largest_size(barrier, kMost, 4, 8), kMost * 4) << "a barrier has no size";
  for (const Operation operation : all_operations()) {
    if (!has_size(operation)) continue;
    const std::uint64_t bytes = largest_size(operation, kMost, 2, 7);
    const auto sizes = buffer_sizes(operation, count_of(operation, bytes, 2, 7), 2, 7);
    EXPECT_LE(std::max(sizes.send, sizes.receive) / 2, kMost) << name_of(operation);
    EXPECT_GT(bytes / 2 + (is_in_parts(operation) ? 7 : 1), kMost) << name_of(operation);
  }
}

TEST(BufferSizes, AreWhatTheCallsNeed) {
  EXPECT_EQ(buffer_sizes(all_reduce, 10, 4, 3), (BufferSizes{40, 40}));
  EXPECT_EQ(buffer_sizes(all_gather, 10, 4, 3), (BufferSizes{40, 120}));
  EXPECT_EQ(buffer_sizes(reduce_scatter, 10, 4, 3), (BufferSizes{120, 40}));
  EXPECT_EQ(buffer_sizes(all_to_all, 10, 4, 3), (BufferSizes{120, 120}));
  EXPECT_EQ(buffer_sizes(send_recv, 10, 4, 3), (BufferSizes{40, 40}));
  EXPECT_EQ(buffer_sizes(barrier, 10, 4, 3), BufferSizes{});
}

TEST(Places, AreThoseOfTheLibrary) {
  EXPECT_FALSE(has_out_of_place(broadcast));
  EXPECT_TRUE(has_in_place(broadcast));
  EXPECT_FALSE(has_in_place(all_to_all));
  EXPECT_FALSE(has_in_place(send_recv));
  EXPECT_FALSE(has_size(barrier));
  EXPECT_TRUE(has_root(reduce) && has_root(broadcast) && !has_root(all_reduce));
  EXPECT_TRUE(reduces(reduce_scatter) && !reduces(all_gather));
}

}  // namespace
}  // namespace dlaunch::measure
