// What many measurements say together. Pure.
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

/// Of nothing: all 0.
[[nodiscard]] Summary summarize(std::vector<double> values);

/// The value below which `share` (0..1) of the sorted values lie, interpolated between neighbours
/// (Hyndman and Fan 1996, definition 7, as most statistics software has it). Of nothing: 0.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double share);

}  // namespace dlaunch::measure
