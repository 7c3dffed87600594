// Runs a benchmark of collectives on a job's hosts and collects what the ranks measure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/engine/run_request.h"
#include "measure/figures/bench_table.h"
#include "measure/figures/pair_table.h"
#include "measure/figures/settings.h"
#include "measure/run/layout.h"
#include "measure/run/measured_run.h"
#include "model/result.h"

namespace dlaunch {

/// What is measured.
struct BenchRequest {
  std::string mode;             // of the ranks' program: bench or pairs
  measure::BenchHeader header;  // without what only the ranks know
  measure::Settings settings;   // of the program
  MeasureBackend backend = MeasureBackend::automatic;
  std::uint64_t most_bytes = 0;  // the largest size
  std::uint64_t type_size = 1;
  std::uint32_t root = 0;
};

/// Whether `ranks` ranks can measure it: at least two for pairs, the root is one of them, and the
/// largest size has an element for each. Errors: kUsage.
[[nodiscard]] Status check_ranks(const BenchRequest& request, std::uint32_t ranks);

/// Whether MPI takes the largest size in one call. Errors: kUsage, with the largest that it takes.
[[nodiscard]] Status check_mpi_size(const BenchRequest& request, std::uint32_t ranks);

/// Bytes of the buffers of each rank, if there are `ranks` ranks.
[[nodiscard]] std::uint64_t bytes_per_rank(const BenchRequest& request, std::uint32_t ranks);

struct BenchFigures {
  measure::BenchHeader header;
  std::vector<measure::BenchRow> rows;
  std::vector<measure::PairResult> pairs;

  /// Whether the ranks got as far as naming their hosts.
  [[nodiscard]] bool has_begun() const { return !header.hosts.empty(); }
};

/// Runs the benchmark on the hosts of `options.spec`; chooses the back-end and, unless
/// `ranks_are_set`, the number of ranks once the nodes' facts are known. Fills `figures` as records
/// arrive, even if the run fails later; `on_text` gets the table header and each row as they are
/// measured. Errors: those of measured_run().
[[nodiscard]] Result<MeasuredRun> run_bench(const BenchRequest& request, RunOptions options,
                                            bool ranks_are_set, KeepRun keep, BenchFigures& figures,
                                            const std::function<void(const std::string&)>& on_text);

}  // namespace dlaunch
