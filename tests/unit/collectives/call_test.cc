// Which calls are refused before a back-end gets them, and which are in place.
#include <array>

#include <gtest/gtest.h>

#include "measure/collectives/call.h"

namespace dlaunch::collectives {
namespace {

using Kind = Call::Kind;

std::array<float, 64> buffer;

/// The fast check and the one with messages agree.
Status checked(const Call& call, int rank, int size, std::size_t most = kMostElementsOfMpi) {
  Status wrong = what_is_wrong(call, rank, size, most);
  EXPECT_EQ(is_right(call, rank, size, most), wrong.ok()) << wrong.what();
  return wrong;
}

TEST(Call, ChecksRanksAndBuffers) {
  Call call{.kind = Kind::broadcast,
            .receive = buffer.data(),
            .count = 4,
            .type = DataType::float32,
            .root = 4};
  EXPECT_EQ(checked(call, 0, 4).what(), "broadcast: root is 4, but the ranks are 0 to 3");
  call.root = 3;
  EXPECT_TRUE(checked(call, 0, 4).ok());
  call = {.kind = Kind::send_receive,
          .send = buffer.data(),
          .receive = buffer.data(),
          .count = 1,
          .to = 0,
          .from = -1};
  EXPECT_EQ(checked(call, 0, 2).what(),
            "send_receive: the rank to receive from is -1, but the ranks are 0 to 1");
  call.from = 1;
  EXPECT_EQ(checked(call, 0, 2).what(), "send_receive: the two buffers must differ");
}

TEST(Call, LimitsElementsToWhatTheBackEndTakes) {
  Call call{.kind = Kind::all_reduce,
            .send = buffer.data(),
            .receive = buffer.data(),
            .count = std::size_t{1} << 31U,
            .type = DataType::float32};
  EXPECT_EQ(checked(call, 0, 4).code(), Code::invalid_argument);
  EXPECT_EQ(checked(call, 0, 4).what(),
            "all_reduce: 2147483648 elements; this back-end takes at most 2147483647 in one call");
  EXPECT_TRUE(checked(call, 0, 4, kMostElements).ok()) << "8 GiB, the largest size in many tables";
  --call.count;
  EXPECT_TRUE(checked(call, 0, 4).ok());
}

TEST(Call, CountsTheElementsOfAllRanks) {
  Call call{.kind = Kind::all_gather,
            .send = buffer.data(),
            .receive = buffer.data(),
            .count = std::size_t{1} << 30U};
  EXPECT_EQ(checked(call, 0, 2).what(),
            "all_gather: 1073741824 elements for each of 2 ranks; this back-end takes at most "
            "2147483647 in one call");
  EXPECT_TRUE(checked(call, 0, 1).ok());
  EXPECT_TRUE(checked(call, 0, 2, kMostElements).ok());
  call.count = std::size_t{1} << 62U;  // times 4 is 0 in 64 bits
  EXPECT_FALSE(checked(call, 0, 4, kMostElements).ok());
  EXPECT_FALSE(checked(call, 0, 1, kMostElements).ok())
      << "float64 elements would exceed the address space";
}

TEST(Call, OnlyTheRootOfAReductionNeedsABufferForIt) {
  const Call call{.kind = Kind::reduce, .send = buffer.data(), .count = 4, .root = 1};
  EXPECT_TRUE(checked(call, 0, 2).ok());
  EXPECT_EQ(checked(call, 1, 2).what(), "reduce: the buffer to receive into is null");
}

TEST(Call, NoElementsNeedNoBuffers) {
  EXPECT_TRUE(checked({.kind = Kind::all_reduce}, 0, 2).ok());
  EXPECT_TRUE(checked({.kind = Kind::barrier}, 0, 2).ok());
}

TEST(Call, InPlaceFollowsNccl) {  // NCCL user guide, "In-place Operations"
  Call call{.kind = Kind::all_gather,
            .send = buffer.data() + 8,
            .receive = buffer.data(),
            .count = 4,
            .type = DataType::float32};
  EXPECT_TRUE(in_place(call, 2));
  EXPECT_FALSE(in_place(call, 1));
  call = {.kind = Kind::reduce_scatter,
          .send = buffer.data(),
          .receive = buffer.data() + 4,
          .count = 4,
          .type = DataType::float32};
  EXPECT_TRUE(in_place(call, 1));
  EXPECT_FALSE(in_place(call, 0));
  call = {.kind = Kind::all_reduce, .send = buffer.data(), .receive = buffer.data(), .count = 4};
  EXPECT_TRUE(in_place(call, 3));
}

}  // namespace
}  // namespace dlaunch::collectives
