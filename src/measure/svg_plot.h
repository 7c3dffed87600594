// A benchmark as a picture: Scalable Vector Graphics 1.1 without scripts and fonts of its own, so
// any browser shows it. Pure.
#pragma once

#include <string>
#include <vector>

#include "measure/bench_table.h"

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
  std::vector<Panel> panels;       // below each other
};

/// A whole file. Points without a place on the axes (x below 1; on a logarithmic axis y of 0 or
/// below; what is not finite) are left out.
[[nodiscard]] std::string to_svg(const Plot& plot);

/// Bus bandwidth, and time on a logarithmic axis, over size.
[[nodiscard]] Plot plot_of(const BenchHeader& header, const std::vector<BenchRow>& rows);

}  // namespace dlaunch::measure
