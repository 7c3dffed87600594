#include "collectives/mpi_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "collectives/half.h"

namespace dlaunch::collectives {

namespace {

/// NaN wins, as with NCCL and unlike std::min.
struct Min {
  float operator()(float a, float b) const { return std::isnan(a) || a < b ? a : b; }
};
struct Max {
  float operator()(float a, float b) const { return std::isnan(a) || a > b ? a : b; }
};
struct Sum {
  float operator()(float a, float b) const { return a + b; }
};
struct Product {
  float operator()(float a, float b) const { return a * b; }
};
struct Float16 {
  static float from(std::uint16_t bits) { return from_float16(bits); }
  static std::uint16_t to(float value) { return to_float16(value); }
};
struct Bfloat16 {
  static float from(std::uint16_t bits) { return from_bfloat16(bits); }
  static std::uint16_t to(float value) { return to_bfloat16(value); }
};

/// An MPI_User_function.
template <typename Number, typename Operation>
void reduce_16_bits(void* in, void* in_out, int* count, MPI_Datatype* /*type*/) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* to = static_cast<std::uint16_t*>(in_out);
  for (int i = 0; i < *count; ++i)
    to[i] = Number::to(Operation()(Number::from(from[i]), Number::from(to[i])));
}

// Half precision has no operations in MPI 3.1: sum, prod, min, max of float16, then of bfloat16.
constexpr std::size_t kOwnOps = 4;
constexpr std::array<MPI_User_function*, 2 * kOwnOps> kFunctions = {
    reduce_16_bits<Float16, Sum>,  reduce_16_bits<Float16, Product>,
    reduce_16_bits<Float16, Min>,  reduce_16_bits<Float16, Max>,
    reduce_16_bits<Bfloat16, Sum>, reduce_16_bits<Bfloat16, Product>,
    reduce_16_bits<Bfloat16, Min>, reduce_16_bits<Bfloat16, Max>,
};

struct OwnOps {
  std::array<MPI_Op, 2 * kOwnOps> ops{};
  bool made = false;
};

OwnOps& own_ops() {
  static OwnOps ops;
  return ops;
}

MPI_Op own_op(DataType type, ReduceOp op) {
  const std::size_t first = type == DataType::float16 ? 0 : kOwnOps;
  return own_ops().ops[first + static_cast<std::size_t>(op == ReduceOp::avg ? ReduceOp::sum : op)];
}

bool is_16_bits(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16;
}

template <typename Number>
void divide_numbers(void* elements, std::size_t count, int size) {
  auto* numbers = static_cast<Number*>(elements);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<Number>(numbers[i] / static_cast<Number>(size));
}

template <typename Number>
void divide_16_bits(void* elements, std::size_t count, int size) {
  auto* numbers = static_cast<std::uint16_t*>(elements);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = Number::to(Number::from(numbers[i]) / static_cast<float>(size));
}

/// A size above 127 is no int8_t.
void divide_int8(void* elements, std::size_t count, int size) {
  auto* numbers = static_cast<std::int8_t*>(elements);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int8_t>(numbers[i] / size);
}

void divide_uint8(void* elements, std::size_t count, int size) {
  auto* numbers = static_cast<std::uint8_t*>(elements);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint8_t>(numbers[i] / size);
}

}  // namespace

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::int8:
      return MPI_INT8_T;
    case DataType::uint8:
      return MPI_UINT8_T;
    case DataType::int32:
      return MPI_INT32_T;
    case DataType::uint32:
      return MPI_UINT32_T;
    case DataType::int64:
      return MPI_INT64_T;
    case DataType::uint64:
      return MPI_UINT64_T;
    case DataType::float16:
    case DataType::bfloat16:
      return MPI_UINT16_T;
    case DataType::float32:
      return MPI_FLOAT;
    case DataType::float64:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(DataType type, ReduceOp op) {
  if (is_16_bits(type)) return own_op(type, op);
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return MPI_SUM;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

void divide(void* elements, std::size_t count, DataType type, int size) {
  switch (type) {
    case DataType::int8:
      return divide_int8(elements, count, size);
    case DataType::uint8:
      return divide_uint8(elements, count, size);
    case DataType::int32:
      return divide_numbers<std::int32_t>(elements, count, size);
    case DataType::uint32:
      return divide_numbers<std::uint32_t>(elements, count, size);
    case DataType::int64:
      return divide_numbers<std::int64_t>(elements, count, size);
    case DataType::uint64:
      return divide_numbers<std::uint64_t>(elements, count, size);
    case DataType::float16:
      return divide_16_bits<Float16>(elements, count, size);
    case DataType::bfloat16:
      return divide_16_bits<Bfloat16>(elements, count, size);
    case DataType::float32:
      return divide_numbers<float>(elements, count, size);
    case DataType::float64:
      return divide_numbers<double>(elements, count, size);
  }
}

void make_mpi_ops() {
  OwnOps& own = own_ops();
  if (own.made) return;
  for (std::size_t i = 0; i < own.ops.size(); ++i) MPI_Op_create(kFunctions[i], 1, &own.ops[i]);
  own.made = true;
}

void free_mpi_ops() {
  OwnOps& own = own_ops();
  if (!own.made) return;
  for (MPI_Op& op : own.ops) MPI_Op_free(&op);
  own.made = false;
}

}  // namespace dlaunch::collectives
