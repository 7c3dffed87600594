// The types of elements in a buffer, and the reductions.
//
// The types and operations are those that NCCL and MPI have in common (nccl.h: ncclDataType_t,
// ncclRedOp_t; MPI 3.1, section 5.9.2). Where MPI lacks one (half precision, the average), the MPI
// back-end provides it.
#ifndef DLAUNCH_COLLECTIVES_TYPES_H
#define DLAUNCH_COLLECTIVES_TYPES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch::collectives {

enum class DataType : std::uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,   // IEEE 754 binary16
  bfloat16,  // the upper half of a float32
  float32,
  float64,
};
inline constexpr std::size_t kDataTypeCount = 10;

/// `avg` is the sum divided by the number of ranks; for integers it is rounded towards zero. Sums
/// and products of integers wrap around. The back-end chooses the order in which floating-point
/// terms are added.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };
inline constexpr std::size_t kReduceOpCount = 5;

/// Bytes of one element: 1, 2, 4 or 8.
constexpr std::size_t size_of(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64:
      return 8;
  }
  return 1;
}

/// Limit for one buffer of a call over MPI 3.1, which counts with an int; NCCL has no such limit.
inline constexpr std::size_t kMostElementsOfMpi = 2147483647;

/// "float32", "sum": the names in commands and tables.
std::string_view name_of(DataType type) noexcept;
std::string_view name_of(ReduceOp op) noexcept;
std::optional<DataType> data_type_named(std::string_view name) noexcept;
std::optional<ReduceOp> reduce_op_named(std::string_view name) noexcept;

}  // namespace dlaunch::collectives

#endif
