// What `dlaunch bench` measures, and whether the available ranks can measure it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "measure/figures/bench_table.h"
#include "measure/figures/settings.h"
#include "measure/run/layout.h"
#include "model/result.h"

namespace dlaunch {

struct BenchRequest {
  std::string mode;             // of the ranks' program: bench or pairs
  measure::BenchHeader header;  // without what only the ranks know
  measure::Settings settings;   // of the program
  MeasureBackend backend = MeasureBackend::automatic;
  std::uint64_t most_bytes = 0;  // the largest size
  std::uint64_t type_size = 1;
  std::uint32_t root = 0;
};

/// Whether so many ranks can measure it: two for pairs, the root among them, an element of the
/// largest size for each. Errors: kUsage.
[[nodiscard]] Status check_ranks(const BenchRequest& request, std::uint32_t ranks);

/// Whether MPI takes the largest size in one call. Errors: kUsage, with the largest that it takes.
[[nodiscard]] Status check_mpi_size(const BenchRequest& request, std::uint32_t ranks);

/// Bytes of the buffers of each of so many ranks.
[[nodiscard]] std::uint64_t bytes_per_rank(const BenchRequest& request, std::uint32_t ranks);

}  // namespace dlaunch
