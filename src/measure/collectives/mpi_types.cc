#include "measure/collectives/mpi_types.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "measure/collectives/half.h"

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

// MPI 3.1 has no operations on 16-bit floats: sum, prod, min, max of float16, then of bfloat16.
constexpr std::size_t kOwnOps = 4;
constexpr std::array<MPI_User_function*, 2 * kOwnOps> kFunctions = {
    reduce_16_bits<Float16, Sum>,  reduce_16_bits<Float16, Product>,
    reduce_16_bits<Float16, Min>,  reduce_16_bits<Float16, Max>,
    reduce_16_bits<Bfloat16, Sum>, reduce_16_bits<Bfloat16, Product>,
    reduce_16_bits<Bfloat16, Min>, reduce_16_bits<Bfloat16, Max>,
};

MPI_Op& own_op(MpiNames& names, std::size_t number) {
  const DataType type = number < kOwnOps ? DataType::float16 : DataType::bfloat16;
  return names.ops[static_cast<std::size_t>(type)][number % kOwnOps];
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

/// The size may exceed 127, so an int8_t is divided as an int.
void divide_int8(void* elements, std::size_t count, int size) {
  auto* numbers = static_cast<std::int8_t*>(elements);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int8_t>(numbers[i] / size);
}

void divide_uint8(void* elements, std::size_t count, int size) {
  auto* numbers = static_cast<std::uint8_t*>(elements);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint8_t>(numbers[i] / size);
}

}  // namespace

MpiNames make_mpi_names() {
  MpiNames names;
  names.types = {MPI_INT8_T,   MPI_UINT8_T,  MPI_INT32_T,  MPI_UINT32_T, MPI_INT64_T,
                 MPI_UINT64_T, MPI_UINT16_T, MPI_UINT16_T, MPI_FLOAT,    MPI_DOUBLE};
  for (auto& of_type : names.ops) of_type = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_SUM};
  for (std::size_t i = 0; i < kFunctions.size(); ++i)
    MPI_Op_create(kFunctions[i], 1, &own_op(names, i));
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    auto& ops = names.ops[static_cast<std::size_t>(type)];
    ops[static_cast<std::size_t>(ReduceOp::avg)] = ops[static_cast<std::size_t>(ReduceOp::sum)];
  }
  return names;
}

void free_mpi_names(MpiNames& names) {
  for (std::size_t i = 0; i < kFunctions.size(); ++i) MPI_Op_free(&own_op(names, i));
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

}  // namespace dlaunch::collectives
