// Runs a benchmark of collectives on a job's hosts and collects what the ranks measure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/engine/run_request.h"
#include "measure/bench/bench_request.h"
#include "measure/figures/pair_table.h"
#include "measure/run/measured_run.h"

namespace dlaunch {

struct BenchFigures {
  measure::BenchHeader header;
  std::vector<measure::BenchRow> rows;
  std::vector<measure::PairResult> pairs;

  /// Whether the ranks got as far as naming their hosts.
  [[nodiscard]] bool has_begun() const { return !header.hosts.empty(); }
};

/// Runs it on the hosts of `options.spec`; chooses the back-end and, unless `ranks_are_set`, the
/// number of ranks once the nodes' facts are known. Fills `figures` as records arrive, also where
/// the run fails later; `on_text` gets the head of the table and each row as they are measured.
/// Errors: those of measured_run().
[[nodiscard]] Result<MeasuredRun> run_bench(const BenchRequest& request, RunOptions options,
                                            bool ranks_are_set, KeepRun keep, BenchFigures& figures,
                                            const std::function<void(const std::string&)>& on_text);

}  // namespace dlaunch
