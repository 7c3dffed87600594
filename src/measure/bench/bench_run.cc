#include "measure/bench/bench_run.h"

#include <utility>

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
