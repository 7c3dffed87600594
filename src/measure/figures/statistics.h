// Statistics over measurements. Pure.
#pragma once

#include <vector>

namespace dlaunch::measure {

struct Summary {
  double mean = 0;
  double min = 0;
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
  bool operator==(const Summary&) const = default;
};

/// All 0 if there are no values.
[[nodiscard]] Summary summarize(std::vector<double> values);

/// The quantile at `share` (0..1) of sorted values, interpolated (Hyndman and Fan 1996, definition
/// 7, the default of most statistics software). 0 if there are no values.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double share);

}  // namespace dlaunch::measure
