#include "measure/figures/operation.h"

#include <algorithm>
#include <array>
#include <string>

namespace dlaunch::measure {

namespace {

struct Row {
  Operation operation;
  std::string_view name;
  bool reduces;
  bool has_root;
  bool in_parts;
  bool out_of_place;
  bool in_place;
};

using enum Operation;

constexpr std::array<Row, 8> kRows{{
    // reduces, root, in parts, out of place, in place
    {all_reduce, "all_reduce", true, false, false, true, true},
    {all_gather, "all_gather", false, false, true, true, true},
    {reduce_scatter, "reduce_scatter", true, false, true, true, true},
    {broadcast, "broadcast", false, true, false, false, true},
    {reduce, "reduce", true, true, false, true, true},
    {all_to_all, "all_to_all", false, false, true, true, false},
    {send_recv, "send_recv", false, false, false, true, false},
    {barrier, "barrier", false, false, false, true, false},
}};

const Row& row_of(Operation operation) noexcept {
  return kRows[static_cast<std::size_t>(operation)];
}

std::string without_underscores(std::string_view name) {
  std::string text(name);
  std::erase(text, '_');
  return text;
}

}  // namespace

std::string_view name_of(Operation operation) noexcept {
  return row_of(operation).name;
}

std::optional<Operation> operation_named(std::string_view name) noexcept {
  for (const Row& row : kRows) {
    if (name == row.name || name == without_underscores(row.name)) return row.operation;
  }
  return std::nullopt;
}

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made;
    made.reserve(std::size(kRows));
    for (const Row& row : kRows) made.push_back(row.operation);
    return made;
  }();
  return all;
}

bool reduces(Operation operation) noexcept {
  return row_of(operation).reduces;
}

bool has_root(Operation operation) noexcept {
  return row_of(operation).has_root;
}

bool has_size(Operation operation) noexcept {
  return operation != barrier;
}

bool is_in_parts(Operation operation) noexcept {
  return row_of(operation).in_parts;
}

bool has_out_of_place(Operation operation) noexcept {
  return row_of(operation).out_of_place;
}

bool has_in_place(Operation operation) noexcept {
  return row_of(operation).in_place;
}

double bus_factor(Operation operation, std::uint32_t ranks) noexcept {
  const double n = std::max(ranks, 1U);
  if (operation == all_reduce) return 2 * (n - 1) / n;
  if (is_in_parts(operation)) return (n - 1) / n;
  return operation == barrier ? 0 : 1;
}

double algorithm_bandwidth(std::uint64_t bytes, double microseconds) noexcept {
  return microseconds > 0 ? static_cast<double>(bytes) / microseconds / 1e3 : 0;
}

std::uint64_t count_of(Operation operation, std::uint64_t bytes, std::uint64_t type_size,
                       std::uint32_t ranks) noexcept {
  if (!has_size(operation)) return 0;
  return bytes / type_size / (is_in_parts(operation) ? ranks : 1);
}

std::uint64_t size_of_count(Operation operation, std::uint64_t count, std::uint64_t type_size,
                            std::uint32_t ranks) noexcept {
  return count * type_size * (is_in_parts(operation) ? ranks : 1);
}

std::uint64_t largest_size(Operation operation, std::uint64_t elements, std::uint64_t type_size,
                           std::uint32_t ranks) noexcept {
  const std::uint64_t count = is_in_parts(operation) ? elements / ranks : elements;
  return size_of_count(operation, count, type_size, ranks);
}

BufferSizes buffer_sizes(Operation operation, std::uint64_t count, std::uint64_t type_size,
                         std::uint32_t ranks) noexcept {
  const std::uint64_t part = count * type_size;
  switch (operation) {
    case all_gather:
      return {part, part * ranks};
    case reduce_scatter:
      return {part * ranks, part};
    case all_to_all:
      return {part * ranks, part * ranks};
    case barrier:
      return {};
    case all_reduce:
    case broadcast:
    case reduce:
    case send_recv:
      break;
  }
  return {part, part};
}

}  // namespace dlaunch::measure
