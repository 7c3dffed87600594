// The numbers that a job's `metrics` find in what its ranks have printed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "text/json_text.h"

namespace dlaunch {

/// Of a rank on whose stdout something was found, or else on its stderr.
struct RankMetric {
  Rank rank;
  Stream stream = Stream::out;
  std::uint64_t matches = 0;
  double last = 0;
  double steady = 0;  // median of the last half of the matches
  bool operator==(const RankMetric&) const = default;
};

struct Metric {
  std::string name;
  std::vector<RankMetric> ranks;  // those where something was found, ascending
  std::uint64_t not_numbers = 0;  // matches whose group is no number
  std::string not_number;         // the first of them, as it was printed
  bool operator==(const Metric&) const = default;
};

/// Of all `patterns` (name -> pattern, which spec has checked), in their order. Reads at most the
/// last 64 MiB of a file, less where there are many, some hundred MiB in all; files that are not
/// there, or cannot be read, are empty.
[[nodiscard]] std::vector<Metric> read_metrics(const std::string& attempt_folder,
                                               std::uint32_t ranks,
                                               const std::map<std::string, std::string>& patterns);

/// "throughput 1520.3 (rank 0; 1498 to 1544 on 8 ranks)": one line, safe for a terminal. Pure.
[[nodiscard]] std::string metric_line(const Metric& metric);

/// Begins and ends an array. Pure.
void write_metrics(JsonText& json, const std::vector<Metric>& metrics, std::size_t indent);

}  // namespace dlaunch
