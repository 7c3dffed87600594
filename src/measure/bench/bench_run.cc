#include "measure/bench/bench_run.h"

#include <utility>

#include "dlaunch/collectives/types.h"
#include "measure/figures/operation.h"
#include "measure/figures/sizes.h"
#include "measure/run/collectives_program.h"

namespace dlaunch {

namespace {

RunOptions::Prepare prepare_for(const BenchRequest& request, bool ranks_are_set) {
  return [request, ranks_are_set](JobSpec& spec, const Cluster& cluster) -> Status {
    const LayoutRequest wanted{request.backend, is_built_in(MeasureBackend::mpi),
                               is_built_in(MeasureBackend::nccl), ranks_are_set};
    const auto layout = lay_out_ranks(wanted, cluster, spec);
    if (!layout) return tl::unexpected(layout.error());
    if (Status ready = check_ranks(request, layout->ranks); !ready) return ready;
    if (layout->backend == MeasureBackend::mpi) {
      if (Status sized = check_mpi_size(request, layout->ranks); !sized) return sized;
      Status room = check_memory(*layout, cluster, bytes_per_rank(request, layout->ranks));
      if (!room) return room;
    }
    spec.command.argv = collectives_words(layout->backend, request.mode, request.settings);
    return {};
  };
}

}  // namespace

using measure::Operation;

Status check_ranks(const BenchRequest& request, std::uint32_t ranks) {
  const Operation operation = request.header.operation;
  if (request.mode == "pairs" && ranks < 2)
    return fail(exit_code::kUsage,
                "--pairs needs two ranks, but there is only one: give more hosts, or -n 2");
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
                  ", but MPI takes at most " + std::to_string(collectives::kMostElementsOfMpi) +
                  " in one call: with " + type + " the largest size is " + std::to_string(largest) +
                  " bytes; --backend nccl has no such limit");
}

std::uint64_t bytes_per_rank(const BenchRequest& request, std::uint32_t ranks) {
  const auto operation = request.header.operation;
  const std::uint64_t count = count_of(operation, request.most_bytes, request.type_size, ranks);
  const auto sizes = buffer_sizes(operation, count, request.type_size, ranks);
  return has_out_of_place(operation) ? sizes.send + sizes.receive : sizes.receive;
}

Result<MeasuredRun> run_bench(const BenchRequest& request, RunOptions options, bool ranks_are_set,
                              KeepRun keep, BenchFigures& result,
                              const std::function<void(const std::string&)>& on_text) {
  result = {request.header, {}, {}};
  options.spec.name = "bench";
  options.prepare = prepare_for(request, ranks_are_set);
  return measured_run(std::move(options), keep, [&](const measure::Record& record) -> Status {
    if (record.kind() == "header") {
      add_ranks(record, result.header);
      on_text(table_head(result.header));
    } else if (record.kind() == "size") {
      result.rows.push_back(read_row(record, result.header));
      on_text(table_row(result.rows.back(), result.header));
    } else if (record.kind() == "pair") {
      result.pairs.push_back(measure::read_pair(record));
    }
    return {};
  });
}

}  // namespace dlaunch
