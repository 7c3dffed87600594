// Every two nodes by themselves: what `dlaunch bench --pairs` shows. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/bench_table.h"
#include "measure/record.h"

namespace dlaunch::measure {

/// Two ranks that have sent each other as much at the same time.
struct PairResult {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint64_t bytes = 0;  // each way
  double time = 0;          // microseconds, mean
  double bandwidth = 0;     // GB/s each way
  bool operator==(const PairResult&) const = default;
};

/// A link of less than this share of the upper quartile is called slow.
inline constexpr double kSlowShare = 0.7;
inline constexpr std::size_t kMostInMatrix = 10;

[[nodiscard]] PairResult read_pair(const Record& record);

/// "node2", or "node2:5" where a host has several ranks.
[[nodiscard]] std::vector<std::string> rank_labels(const std::vector<std::string>& hosts);

/// The matrix, for up to kMostInMatrix ranks, and the slowest links by name; lines of at most 104
/// columns.
[[nodiscard]] std::string pair_text(const BenchHeader& header,
                                    const std::vector<PairResult>& pairs);
/// `error`: why pairs are missing; empty: none is.
[[nodiscard]] std::string pair_json(const BenchHeader& header, const std::vector<PairResult>& pairs,
                                    std::string_view error);

/// Those below kSlowShare of the upper quartile, slowest first. Of fewer than three links nobody
/// can say.
[[nodiscard]] std::vector<PairResult> slow_links(std::vector<PairResult> pairs);

}  // namespace dlaunch::measure
