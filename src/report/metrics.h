// The numbers that the patterns of a job's `metrics` find in the output of its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "text/json_text.h"

namespace dlaunch {

/// The matches in a rank's stdout or, if there are none, in its stderr.
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
  std::vector<RankMetric> ranks;  // those with matches, ascending
  std::uint64_t not_numbers = 0;  // matches whose group is not a number
  std::string not_number;         // the first of these matches, as it was printed
  bool operator==(const Metric&) const = default;
};

/// One for each of `patterns` (name -> pattern, which jobfile has checked), in their order. Reads
/// at most the last 64 MiB of a file. If there are many files, they share 128 MiB, but each gets at
/// least 256 KiB. A file that is missing or cannot be read counts as empty.
[[nodiscard]] std::vector<Metric> read_metrics(const std::string& attempt_folder,
                                               std::uint32_t ranks,
                                               const std::map<std::string, std::string>& patterns);

/// "throughput 1520.3 (rank 0; 1498 to 1544 on 8 ranks)": one line, safe for a terminal. Pure.
[[nodiscard]] std::string metric_line(const Metric& metric);

/// Writes a whole array. Pure.
void write_metrics(JsonText& json, const std::vector<Metric>& metrics, std::size_t indent);

/// The last NaN that a program printed as the value of a quantity that users watch in training (a
/// loss, a norm, an accuracy, ...): "loss: nan"; nullopt: none. Other mentions of "nan" do not
/// count.
[[nodiscard]] std::optional<std::string> printed_nan(std::string_view text);

/// "3 values of the metric loss are not a number (\"nan\")" for each metric with values that print
/// as nan or infinity. Leaves out a metric without any number, which metric_line() reports.
[[nodiscard]] std::vector<std::string> nan_metrics(const std::vector<Metric>& metrics);

}  // namespace dlaunch
