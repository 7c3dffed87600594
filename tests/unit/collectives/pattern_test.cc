#include "measure/collectives/program/pattern.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>

#include "measure/collectives/half.h"
#include "measure/collectives/program/checked_buffers.h"
#include "measure/collectives/program/slices.h"

namespace dlaunch::collectives {
namespace {

using measure::Operation;

constexpr std::size_t kCount = 500;

double number_at(const std::vector<char>& bytes, DataType type, std::size_t i) {
  const auto as = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case DataType::int8:
      return as(std::int8_t());
    case DataType::uint8:
      return as(std::uint8_t());
    case DataType::int32:
      return as(std::int32_t());
    case DataType::uint32:
      return as(std::uint32_t());
    case DataType::int64:
      return static_cast<double>(as(std::int64_t()));
    case DataType::uint64:
      return static_cast<double>(as(std::uint64_t()));
    case DataType::float16:
      return from_float16(as(std::uint16_t()));
    case DataType::bfloat16:
      return from_bfloat16(as(std::uint16_t()));
    case DataType::float32:
      return as(float());
    case DataType::float64:
      break;
  }
  return as(double());
}

bool is_whole(DataType type) {
  return type < DataType::float16;
}

/// Reduces float64 numbers by the definition.
double reduced(ReduceOp op, const std::vector<double>& given, bool whole) {
  double result = given.front();
  for (std::size_t rank = 1; rank < given.size(); ++rank) {
    if (op == ReduceOp::sum || op == ReduceOp::avg) result += given[rank];
    if (op == ReduceOp::prod) result *= given[rank];
    if (op == ReduceOp::min) result = std::min(result, given[rank]);
    if (op == ReduceOp::max) result = std::max(result, given[rank]);
  }
  if (op != ReduceOp::avg) return result;
  result /= static_cast<double>(given.size());
  return whole ? std::trunc(result) : result;
}

class PatternOf : public testing::TestWithParam<int> {};

TEST_P(PatternOf, PredictsTheResultOfAReduction) {
  const int ranks = GetParam();
  for (std::size_t t = 0; t < kDataTypeCount; ++t) {
    for (std::size_t o = 0; o < kReduceOpCount; ++o) {
      const auto type = static_cast<DataType>(t);
      const auto op = static_cast<ReduceOp>(o);
      const Pattern pattern(type, op, ranks, 7);
      std::vector<std::vector<char>> given(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        given[static_cast<std::size_t>(rank)].resize(kCount * size_of(type));
        pattern.give(given[static_cast<std::size_t>(rank)].data(), rank, 100, kCount);
      }
      std::vector<char> expected(kCount * size_of(type));
      pattern.reduced(expected.data(), 100, kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        std::vector<double> numbers;
        for (const auto& one : given) numbers.push_back(number_at(one, type, i));
        const double wanted = reduced(op, numbers, is_whole(type));
        EXPECT_NEAR(number_at(expected, type, i), wanted, op == ReduceOp::avg ? wanted / 200 : 0)
            << name_of(type) << ' ' << name_of(op) << ' ' << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PatternOf, testing::Values(1, 2, 3, 8, 31, 32, 300));

TEST(Pattern, SumsAreExactInEveryType) {
  // bfloat16 cannot hold all whole numbers above 256.
  for (const int ranks : {1, 31, 32, 1000}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::avg}) {
      const Pattern pattern(DataType::float64, op, ranks, 1);
      std::vector<double> numbers(kCount);
      pattern.reduced(reinterpret_cast<char*>(numbers.data()), 0, kCount);
      for (const double number : numbers)
        EXPECT_LE(number * (op == ReduceOp::avg ? ranks : 1), 127);
    }
  }
}

TEST(Pattern, DependsOnTheSalt) {
  std::vector<char> one(4 * kCount);
  std::vector<char> other(4 * kCount);
  const Pattern pattern(DataType::int32, ReduceOp::sum, 4, 1);
  pattern.reduced(one.data(), 0, kCount);
  Pattern(DataType::int32, ReduceOp::sum, 4, 2).reduced(other.data(), 0, kCount);
  EXPECT_GT(pattern.wrong(other.data(), one.data(), kCount, true), kCount / 2);
}

TEST(Pattern, CountsEveryPlantedWrongElement) {
  for (std::size_t t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    const Pattern pattern(type, ReduceOp::sum, 4, 1);
    std::vector<char> expected(kCount * size_of(type));
    pattern.reduced(expected.data(), 0, kCount);
    std::vector<char> got = expected;
    EXPECT_EQ(pattern.wrong(got.data(), expected.data(), kCount, true), 0U);
    got[0] = static_cast<char>(got[0] ^ 1);
    got[got.size() - 1] = static_cast<char>(got[got.size() - 1] ^ 64);
    EXPECT_EQ(pattern.wrong(got.data(), expected.data(), kCount, true), 2U) << name_of(type);
  }
}

TEST(Pattern, AnAverageMayBeRounded) {
  const Pattern pattern(DataType::float32, ReduceOp::avg, 7, 1);
  std::vector<float> expected(kCount);
  pattern.reduced(reinterpret_cast<char*>(expected.data()), 0, kCount);
  std::vector<float> got = expected;
  got[3] = std::nextafter(got[3], 100.0F);
  got[4] *= 1.001F;
  const auto wrong = [&](bool is_reduced) {
    return pattern.wrong(reinterpret_cast<const char*>(got.data()),
                         reinterpret_cast<const char*>(expected.data()), kCount, is_reduced);
  };
  EXPECT_EQ(wrong(true), 1U);
  EXPECT_EQ(wrong(false), 2U);
  got[5] = std::nanf("");
  EXPECT_EQ(wrong(true), 2U);
}

/// Simulates all ranks: the receive buffers that a correct library leaves.
void perform(Operation operation, int ranks, int root, std::size_t count,
             std::vector<std::vector<char>>& send, std::vector<std::vector<char>>& receive) {
  const auto part = [&](std::vector<char>& buffer, int i) {
    return buffer.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * count);
  };
  const auto size = static_cast<std::ptrdiff_t>(count);
  for (int to = 0; to < ranks; ++to) {
    auto& out = receive[static_cast<std::size_t>(to)];
    for (int from = 0; from < ranks; ++from) {
      auto& in = send[static_cast<std::size_t>(from)];
      if (operation == Operation::all_gather) std::copy_n(part(in, 0), size, part(out, from));
      if (operation == Operation::all_to_all) std::copy_n(part(in, to), size, part(out, from));
      if (operation == Operation::send_recv && (from + 1) % ranks == to)
        std::copy_n(part(in, 0), size, part(out, 0));
      if (operation == Operation::broadcast && from == root)
        std::copy_n(part(in, 0), size, part(out, 0));
      const auto add = [&](int first) {
        for (std::ptrdiff_t i = 0; i < size; ++i)
          out[static_cast<std::size_t>(i)] = static_cast<char>(
              (from == 0 ? 0 : out[static_cast<std::size_t>(i)]) + part(in, first)[i]);
      };
      if (operation == Operation::all_reduce) add(0);
      if (operation == Operation::reduce && to == root) add(0);
      if (operation == Operation::reduce_scatter) add(to);
    }
  }
}

class SlicesOf : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Ranks, SlicesOf, testing::Values(1, 3));

TEST_P(SlicesOf, DescribeEachOperation) {
  const int ranks = GetParam();
  const auto all = static_cast<std::size_t>(ranks);
  const auto memory = host_memory();
  const Pattern pattern(DataType::uint8, ReduceOp::sum, ranks, 5);
  for (const Operation operation : measure::all_operations()) {
    for (const int root : {0, ranks - 1}) {
      std::vector<std::vector<char>> send(all, std::vector<char>(kCount * all));
      std::vector<std::vector<char>> receive = send;
      for (int rank = 0; rank < ranks; ++rank) {
        const CheckedCall call{operation, rank, ranks, root, kCount};
        auto& own = send[static_cast<std::size_t>(rank)];
        ASSERT_TRUE(fill(*memory, own.data(), DataType::uint8, pattern, inputs(call), [] {}).ok());
      }
      perform(operation, ranks, root, kCount, send, receive);
      for (int rank = 0; rank < ranks; ++rank) {
        const CheckedCall call{operation, rank, ranks, root, kCount};
        auto& own = receive[static_cast<std::size_t>(rank)];
        const auto wrong =
            compare(*memory, own.data(), DataType::uint8, pattern, outputs(call), [] {});
        EXPECT_EQ(*wrong, 0U) << name_of(operation) << " at rank " << rank;
        ASSERT_TRUE(spoil(*memory, own.data(), own.size(), [] {}).ok());
        std::uint64_t checked = 0;
        for (const Slice& slice : outputs(call)) checked += slice.count;
        const auto spoiled =
            compare(*memory, own.data(), DataType::uint8, pattern, outputs(call), [] {});
        EXPECT_GE(*spoiled, checked - checked / 50);  // some moved bytes are equal by chance
      }
    }
  }
}

}  // namespace
}  // namespace dlaunch::collectives
