#include "report/scale_plot.h"

#include <optional>
#include <utility>

namespace dlaunch {

measure::Plot plot_of(const ScaleTable& table) {
  constexpr double kPercent = 100;
  measure::Line measured{"measured", {}};
  measure::Line linear{"linear", {}};
  measure::Line efficiency{"of linear", {}};
  std::optional<ScaleFigures> first;
  const auto figures = scale_figures(table);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!figures[i]) continue;
    if (!first) first = figures[i];
    const auto x = static_cast<double>(table.rows[i].count);
    measured.points.push_back({x, figures[i]->mean});
    if (first->ranks > 0)
      linear.points.push_back({x, first->mean * figures[i]->ranks / first->ranks});
    if (figures[i]->efficiency)
      efficiency.points.push_back({x, *figures[i]->efficiency * kPercent});
  }
  const std::string what = table.measure.metric.empty() ? "throughput" : table.measure.metric;
  return {table.name,
          {what + " at each size, mean of its runs"},
          table.by_nodes ? "nodes" : "ranks",
          {{what, false, {std::move(measured), std::move(linear)}},
           {"efficiency (%)", false, {std::move(efficiency)}}}};
}

}  // namespace dlaunch
