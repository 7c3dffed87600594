#include "measure/figures/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace dlaunch::measure {

double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()),
          values.front(),
          quantile(values, 0.5),
          quantile(values, 0.9),
          quantile(values, 0.99),
          values.back()};
}

}  // namespace dlaunch::measure
