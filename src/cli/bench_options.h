// What `dlaunch bench` is asked for, checked before anything is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "measure/bench_table.h"
#include "measure/settings.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "plan/measured_job.h"

namespace dlaunch {

/// As typed.
struct BenchOptions {
  std::string operation;
  bool pairs = false;
  std::optional<std::string> min_bytes;
  std::optional<std::string> max_bytes;
  std::optional<std::string> step_bytes;
  std::optional<std::uint32_t> factor;
  std::optional<std::uint32_t> warmup;
  std::optional<std::uint32_t> iterations;
  std::optional<std::uint32_t> root;
  std::optional<std::string> type;
  std::optional<std::string> op;
  std::optional<std::string> timeout;
  std::string backend = "auto";
  bool check = false;
  bool no_check = false;
};

/// As understood.
struct BenchWish {
  std::string mode;             // of the ranks' program: bench or pairs
  measure::BenchHeader header;  // without what only the ranks know
  measure::Settings settings;   // of the program
  MeasureBackend backend = MeasureBackend::automatic;
  std::uint64_t most_bytes = 0;  // the largest size that is measured
  std::uint64_t type_size = 1;
  std::uint32_t root = 0;
};

void add_bench_options(CommandOptions command, BenchOptions& options);

/// Errors: kUsage, one line about the first thing that is wrong.
[[nodiscard]] Result<BenchWish> read_bench_options(const BenchOptions& options);

/// Whether the ranks can do it. Errors: kUsage.
[[nodiscard]] Status check_ranks(const BenchWish& wish, std::uint32_t ranks);

/// Whether MPI takes the largest size in one call. Errors: kUsage, with the largest that it takes.
[[nodiscard]] Status check_mpi_size(const BenchWish& wish, std::uint32_t ranks);

/// Bytes of buffers that each of so many ranks needs.
[[nodiscard]] std::uint64_t bytes_per_rank(const BenchWish& wish, std::uint32_t ranks);

}  // namespace dlaunch
