// The output of `dlaunch bench --pairs`: measurements between every two ranks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/figures/bench_table.h"
#include "measure/figures/record.h"

namespace dlaunch::measure {

/// Two ranks that sent the same amount to each other at the same time.
struct PairResult {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint64_t bytes = 0;  // each way
  double time = 0;          // microseconds, mean
  double bandwidth = 0;     // GB/s each way
  bool operator==(const PairResult&) const = default;
};

/// A link below this share of the upper quartile is slow.
inline constexpr double kSlowShare = 0.7;
inline constexpr std::size_t kMostInMatrix = 10;

[[nodiscard]] PairResult read_pair(const Record& record);

/// "node2", or "node2:5" if a host has several ranks.
[[nodiscard]] std::vector<std::string> rank_labels(const std::vector<std::string>& hosts);

/// The matrix, for up to kMostInMatrix ranks, and the slowest links; lines of at most 104 columns.
[[nodiscard]] std::string pair_text(const BenchHeader& header,
                                    const std::vector<PairResult>& pairs);
/// `error`: why pairs are missing; empty: none are.
[[nodiscard]] std::string pair_json(const BenchHeader& header, const std::vector<PairResult>& pairs,
                                    std::string_view error);

/// Links below kSlowShare of the upper quartile, slowest first; none if there are fewer than three
/// links.
[[nodiscard]] std::vector<PairResult> slow_links(std::vector<PairResult> pairs);

}  // namespace dlaunch::measure
