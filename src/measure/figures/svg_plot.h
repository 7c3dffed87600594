// Plots as Scalable Vector Graphics 1.1, without scripts and fonts, so that any browser shows them.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "measure/figures/bench_table.h"

namespace dlaunch::measure {

struct Point {
  double x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

struct Line {
  std::string name;
  std::vector<Point> points;
};

struct Panel {
  std::string title;  // of the vertical axis: "bus bandwidth (GB/s)"
  bool log_y = false;
  std::vector<Line> lines;
};

struct Plot {
  std::string title;
  std::vector<std::string> notes;  // below the title
  std::string x_title;             // of the axis that all panels share: bytes, powers of two
  std::vector<Panel> panels;       // one below the other
};

/// A complete file. Leaves out points that the axes cannot show: x below 1, y of 0 or less on a
/// logarithmic axis, numbers that are not finite.
[[nodiscard]] std::string to_svg(const Plot& plot);

/// Bus bandwidth and, on a logarithmic axis, time over size.
[[nodiscard]] Plot plot_of(const BenchHeader& header, const std::vector<BenchRow>& rows);

}  // namespace dlaunch::measure
