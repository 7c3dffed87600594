#include "measure/bench/bench_request.h"

#include "dlaunch/collectives/types.h"
#include "measure/figures/operation.h"
#include "measure/figures/sizes.h"

namespace dlaunch {

using measure::Operation;

Status check_ranks(const BenchRequest& request, std::uint32_t ranks) {
  const Operation operation = request.header.operation;
  if (request.mode == "pairs" && ranks < 2)
    return fail(exit_code::kUsage,
                "--pairs needs two ranks, and there is one: give more hosts, or -n 2");
  if (has_root(operation) && request.root >= ranks) {
    return fail(exit_code::kUsage, "--root " + std::to_string(request.root) + ": there are " +
                                       std::to_string(ranks) + " ranks, counted from 0");
  }
  if (has_size(operation) &&
      count_of(operation, request.most_bytes, request.type_size, ranks) == 0) {
    return fail(exit_code::kUsage, "the largest size, " + measure::short_size(request.most_bytes) +
                                       " bytes, is less than one element of " +
                                       request.header.type + " for each of " +
                                       std::to_string(ranks) + " ranks");
  }
  return {};
}

Status check_mpi_size(const BenchRequest& request, std::uint32_t ranks) {
  const Operation operation = request.header.operation;
  const std::uint64_t largest =
      largest_size(operation, collectives::kMostElementsOfMpi, request.type_size, ranks);
  const std::uint64_t count = count_of(operation, request.most_bytes, request.type_size, ranks);
  if (size_of_count(operation, count, request.type_size, ranks) <= largest) return {};
  const std::string type(request.header.type);
  return fail(exit_code::kUsage,
              "a size of " + measure::short_size(request.most_bytes) + " is " +
                  std::to_string(request.most_bytes / request.type_size) + " elements of " + type +
                  ", and MPI takes at most " + std::to_string(collectives::kMostElementsOfMpi) +
                  " in one call: with " + type + " the largest size is " + std::to_string(largest) +
                  " bytes; --backend nccl has no such limit");
}

std::uint64_t bytes_per_rank(const BenchRequest& request, std::uint32_t ranks) {
  const auto operation = request.header.operation;
  const std::uint64_t count = count_of(operation, request.most_bytes, request.type_size, ranks);
  const auto sizes = buffer_sizes(operation, count, request.type_size, ranks);
  return has_out_of_place(operation) ? sizes.send + sizes.receive : sizes.receive;
}

}  // namespace dlaunch
