#include "dlaunch/collectives/types.h"

#include <array>

namespace dlaunch::collectives {

namespace {

struct TypeRow {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<TypeRow, kDataTypeCount> kTypes = {{
    {"int8", 1},
    {"uint8", 1},
    {"int32", 4},
    {"uint32", 4},
    {"int64", 8},
    {"uint64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
}};

constexpr std::array<std::string_view, kReduceOpCount> kOps = {"sum", "prod", "min", "max", "avg"};

}  // namespace

std::size_t size_of(DataType type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].size;
}

std::string_view name_of(DataType type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::string_view name_of(ReduceOp op) noexcept {
  return kOps[static_cast<std::size_t>(op)];
}

std::optional<DataType> data_type_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DataType>(i);
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
