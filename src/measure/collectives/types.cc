#include "dlaunch/collectives/types.h"

#include <array>

namespace dlaunch::collectives {

namespace {

constexpr std::array<std::string_view, kDataTypeCount> kTypes = {
    "int8",   "uint8",   "int32",    "uint32",  "int64",
    "uint64", "float16", "bfloat16", "float32", "float64"};

constexpr std::array<std::string_view, kReduceOpCount> kOps = {"sum", "prod", "min", "max", "avg"};

}  // namespace

std::string_view name_of(DataType type) noexcept {
  return kTypes[static_cast<std::size_t>(type)];
}

std::string_view name_of(ReduceOp op) noexcept {
  return kOps[static_cast<std::size_t>(op)];
}

std::optional<DataType> data_type_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

std::optional<ReduceOp> reduce_op_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i] == name) return static_cast<ReduceOp>(i);
  }
  return std::nullopt;
}

}  // namespace dlaunch::collectives
