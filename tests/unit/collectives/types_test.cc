// Names and sizes of types and operations.
#include <gtest/gtest.h>

#include "dlaunch/collectives/types.h"

namespace dlaunch::collectives {
namespace {

TEST(Types, NamesRoundTrip) {
  for (std::size_t i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(data_type_named(name_of(type)), type);
  }
  for (std::size_t i = 0; i < kReduceOpCount; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    EXPECT_EQ(reduce_op_named(name_of(op)), op);
  }
  EXPECT_EQ(data_type_named("float"), std::nullopt);
  EXPECT_EQ(data_type_named(""), std::nullopt);
  EXPECT_EQ(reduce_op_named("mean"), std::nullopt);
}

TEST(Types, Sizes) {
  EXPECT_EQ(size_of(DataType::uint8), 1U);
  EXPECT_EQ(size_of(DataType::float16), 2U);
  EXPECT_EQ(size_of(DataType::bfloat16), 2U);
  EXPECT_EQ(size_of(DataType::float32), 4U);
  EXPECT_EQ(size_of(DataType::uint64), 8U);
  EXPECT_EQ(size_of(DataType::float64), 8U);
}

}  // namespace
}  // namespace dlaunch::collectives
