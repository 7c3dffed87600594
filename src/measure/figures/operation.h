// What a benchmark of collectives measures, and what its time means as bandwidth.
//
// The definitions are those of nccl-tests (doc/PERFORMANCE.md), so that figures are comparable:
// algorithm bandwidth is size / time; bus bandwidth is that times a factor that makes it the speed
// of the links, independent of the number of ranks. The size is that of the larger buffer of a
// rank. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dlaunch::measure {

enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_recv,  // in a ring: each rank sends to the next and receives from the previous one; a
              // single rank sends to itself
  barrier,
};

[[nodiscard]] std::string_view name_of(Operation) noexcept;
/// Also takes the names of nccl-tests, without underscores ("alltoall").
[[nodiscard]] std::optional<Operation> operation_named(std::string_view name) noexcept;
[[nodiscard]] const std::vector<Operation>& all_operations();

/// all_reduce, reduce_scatter, reduce.
[[nodiscard]] bool reduces(Operation) noexcept;
/// broadcast, reduce.
[[nodiscard]] bool has_root(Operation) noexcept;
/// All but barrier.
[[nodiscard]] bool has_size(Operation) noexcept;
/// Whether a buffer has a part for each rank: all_gather, reduce_scatter, all_to_all.
[[nodiscard]] bool is_in_parts(Operation) noexcept;
/// Whether the call exists with two buffers, and whether it exists in place.
[[nodiscard]] bool has_out_of_place(Operation) noexcept;
[[nodiscard]] bool has_in_place(Operation) noexcept;

/// Bus bandwidth divided by algorithm bandwidth, for `ranks` >= 1: 2(n-1)/n for all_reduce, (n-1)/n
/// for operations in parts, else 1.
[[nodiscard]] double bus_factor(Operation, std::uint32_t ranks) noexcept;

/// GB/s (10^9 bytes per second); 0 if `microseconds` is 0 or less.
[[nodiscard]] double algorithm_bandwidth(std::uint64_t bytes, double microseconds) noexcept;

/// The element count of the call, for a size of at most `bytes`.
[[nodiscard]] std::uint64_t count_of(Operation, std::uint64_t bytes, std::uint64_t type_size,
                                     std::uint32_t ranks) noexcept;
/// The size for a count from count_of(), which may have rounded down.
[[nodiscard]] std::uint64_t size_of_count(Operation, std::uint64_t count, std::uint64_t type_size,
                                          std::uint32_t ranks) noexcept;

/// The largest size for which no buffer of a rank has more than `elements`.
[[nodiscard]] std::uint64_t largest_size(Operation, std::uint64_t elements, std::uint64_t type_size,
                                         std::uint32_t ranks) noexcept;

/// Bytes of a rank's send buffer and receive buffer for such a call.
struct BufferSizes {
  std::uint64_t send = 0;
  std::uint64_t receive = 0;
  bool operator==(const BufferSizes&) const = default;
};
[[nodiscard]] BufferSizes buffer_sizes(Operation, std::uint64_t count, std::uint64_t type_size,
                                       std::uint32_t ranks) noexcept;

}  // namespace dlaunch::measure
