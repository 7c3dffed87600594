#include "measure/figures/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>

#include "measure/figures/sizes.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch::measure {

namespace {

// Sizes in pixels.
constexpr double kWidth = 760;
constexpr double kLeft = 80;
constexpr double kRight = 20;
constexpr double kPanelHeight = 260;
constexpr double kGap = 40;
constexpr double kLineHeight = 18;
constexpr int kMostXLabels = 12;
// Distinguishable with any kind of colour vision (Okabe and Ito 2008).
constexpr std::array<std::string_view, 4> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

/// Escapes text for XML 1.0 (sections 2.2 and 2.4).
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    const char c = text[0];
    if (!point.valid || (point.value < 0x20 && c != '\t') || point.value >= 0xfffe) {
      out += '?';
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out.append(text.substr(0, point.size));
    }
    text.remove_prefix(point.size);
  }
  return out;
}

std::string pixel(double value) {
  return decimals(value, 1);
}

std::string label(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "") {
  return "<text x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\"" + std::string(more) + ">" + escaped(text) + "</text>\n";
}

std::string stroke(double x1, double y1, double x2, double y2, std::string_view colour) {
  return "<line x1=\"" + pixel(x1) + "\" y1=\"" + pixel(y1) + "\" x2=\"" + pixel(x2) + "\" y2=\"" +
         pixel(y2) + "\" stroke=\"" + std::string(colour) + "\"/>\n";
}

bool is_drawn(const Point& point, bool log_y) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x >= 1 &&
         (log_y ? point.y > 0 : point.y >= 0);
}

/// Maps values to pixels.
struct Axis {
  bool is_log = false;
  double low = 0;
  double high = 1;
  double from = 0;  // pixel of low
  double to = 1;    // pixel of high

  [[nodiscard]] double at(double value) const {
    const double part = is_log
                            ? (std::log(value) - std::log(low)) / (std::log(high) - std::log(low))
                            : (value - low) / (high - low);
    return from + part * (to - from);
  }
};

/// 1, 2 or 5 times a power of ten, so that about five of them reach `range`.
double round_step(double range) {
  const double rough = range / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

Axis axis_of_y(const Panel& panel, double top) {
  Axis axis{panel.log_y, 0, 0, top + kPanelHeight, top};
  double low = std::numeric_limits<double>::infinity();
  for (const Line& line : panel.lines) {
    for (const Point& point : line.points) {
      if (!is_drawn(point, panel.log_y)) continue;
      low = std::min(low, point.y);
      axis.high = std::max(axis.high, point.y);
    }
  }
  if (axis.high <= 0) axis.high = 1;  // no values, or only zeros
  if (panel.log_y) {
    axis.low = std::pow(10, std::floor(std::log10(std::min(low, axis.high))));
    axis.high = std::pow(10, std::ceil(std::log10(axis.high)));
    if (axis.high <= axis.low) axis.high = axis.low * 10;
  } else {
    const double step = round_step(axis.high);
    axis.high = std::ceil(axis.high / step) * step;
  }
  return axis;
}

std::vector<double> ticks_of_y(const Axis& axis) {
  std::vector<double> ticks;
  if (axis.is_log) {
    for (double tick = axis.low; tick <= axis.high * 1.001; tick *= 10) ticks.push_back(tick);
    return ticks;
  }
  const double step = round_step(axis.high);
  for (int i = 0; i * step <= axis.high * 1.001; ++i) ticks.push_back(i * step);
  return ticks;
}

Axis axis_of_x(const Plot& plot) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const Panel& panel : plot.panels) {
    for (const Line& line : panel.lines) {
      for (const Point& point : line.points) {
        if (!is_drawn(point, panel.log_y)) continue;
        low = std::min(low, point.x);
        high = std::max(high, point.x);
      }
    }
  }
  if (high <= 0) low = high = 1;
  if (low >= high) {
    low /= 2;
    high *= 2;
  }
  return {true, low, high, kLeft, kWidth - kRight};
}

/// Powers of two within the axis, as many as fit.
std::vector<double> ticks_of_x(const Axis& axis) {
  const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(axis.high) + 1e-9));
  const int step = std::max(1, (last - first) / kMostXLabels + 1);
  std::vector<double> ticks;
  for (int power = first; power <= last; power += step) ticks.push_back(std::ldexp(1, power));
  return ticks;
}

std::string draw_axes(const Panel& panel, const Axis& x, const Axis& y) {
  std::string out;
  for (const double tick : ticks_of_y(y)) {
    out += stroke(x.from, y.at(tick), x.to, y.at(tick), "#dddddd");
    out += text_at(x.from - 6, y.at(tick) + 4, "end", label(tick));
  }
  for (const double tick : ticks_of_x(x)) {
    out += stroke(x.at(tick), y.from, x.at(tick), y.from + 4, "#444444");
    out += text_at(x.at(tick), y.from + 18, "middle",
                   tick < 1 ? label(tick) : short_size(static_cast<std::uint64_t>(tick)));
  }
  out += stroke(x.from, y.from, x.to, y.from, "#444444");
  out += stroke(x.from, y.from, x.from, y.to, "#444444");
  return out + text_at(x.from, y.to - 8, "start", panel.title, " font-weight=\"bold\"");
}

std::string draw_line(const Line& line, bool log_y, const Axis& x, const Axis& y,
                      std::string_view colour) {
  std::string points;
  std::string dots;
  for (const Point& point : line.points) {
    if (!is_drawn(point, log_y)) continue;
    const std::string px = pixel(x.at(point.x));
    const std::string py = pixel(y.at(point.y));
    points += (points.empty() ? "" : " ") + px + ',' + py;
    dots += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"3\" fill=\"" + std::string(colour) +
            "\"/>\n";
  }
  if (points.empty()) return "";
  return "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + std::string(colour) +
         "\" points=\"" + points + "\"/>\n" + dots;
}

std::string draw_panel(const Panel& panel, const Axis& x, double top) {
  const Axis y = axis_of_y(panel, top);
  std::string out = draw_axes(panel, x, y);
  double legend = x.to;
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    out += draw_line(panel.lines[i], panel.log_y, x, y, colour);
    out += text_at(legend, top - 8, "end", panel.lines[i].name,
                   " fill=\"" + std::string(colour) + '"');
    legend -= 8.0 * static_cast<double>(utf8_length(panel.lines[i].name)) + 16;
  }
  return out;
}

}  // namespace

std::string to_svg(const Plot& plot) {
  const double head = 30 + kLineHeight * static_cast<double>(plot.notes.size());
  const double height =
      head + (kPanelHeight + 2 * kGap) * static_cast<double>(plot.panels.size()) + kLineHeight;
  const std::string size = "width=\"" + pixel(kWidth) + "\" height=\"" + pixel(height) + "\"";
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" " +
      size + " font-family=\"sans-serif\" font-size=\"12\">\n<rect " + size + " fill=\"white\"/>\n";
  out += text_at(20, 22, "start", plot.title, " font-size=\"16\" font-weight=\"bold\"");
  double y = 22;
  for (const std::string& note : plot.notes) out += text_at(20, y += kLineHeight, "start", note);
  const Axis x = axis_of_x(plot);
  double top = head + kGap;
  for (const Panel& panel : plot.panels) {
    out += draw_panel(panel, x, top);
    top += kPanelHeight + 2 * kGap;
  }
  out += text_at((kLeft + kWidth - kRight) / 2, top - kGap, "middle", plot.x_title);
  return out + "</svg>\n";
}

Plot plot_of(const BenchHeader& header, const std::vector<BenchRow>& rows) {
  const std::set<std::string> nodes(header.hosts.begin(), header.hosts.end());
  const std::string name(name_of(header.operation));
  Plot plot{name + ", " + std::to_string(header.hosts.size()) + " ranks on " +
                counted(nodes.size(), "host"),
            {header.backend + ", " + header.type + (header.op.empty() ? "" : ", " + header.op) +
             ", " + std::to_string(header.iterations) + " calls per size"},
            "size (bytes)",
            {{"bus bandwidth (GB/s)", false, {}}, {"time (us)", true, {}}}};
  const auto add = [&](const char* name, std::optional<BenchResult> BenchRow::*result) {
    Line bandwidth{name, {}};
    Line time{name, {}};
    for (const BenchRow& row : rows) {
      const auto& one = row.*result;
      if (!one) continue;
      bandwidth.points.push_back({static_cast<double>(row.bytes), one->busbw});
      time.points.push_back({static_cast<double>(row.bytes), one->time});
    }
    if (time.points.empty()) return;
    plot.panels[0].lines.push_back(std::move(bandwidth));
    plot.panels[1].lines.push_back(std::move(time));
  };
  add("out of place", &BenchRow::out_of_place);
  add("in place", &BenchRow::in_place);
  return plot;
}

}  // namespace dlaunch::measure
