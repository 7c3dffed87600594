// The options of `dlaunch bench`, checked before anything is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "measure/bench/bench_request.h"

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

void add_bench_options(CommandOptions command, BenchOptions& options);

/// Errors: kUsage, with the first mistake.
[[nodiscard]] Result<BenchRequest> read_bench_options(const BenchOptions& options);

}  // namespace dlaunch
