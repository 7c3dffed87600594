#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "report/html/markup.h"
#include "report/html/report_parts.h"
#include "report/json_values.h"
#include "report/metric_number.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using nlohmann::json;

/// One value for each step of time; NaN: unknown.
using Series = std::vector<double>;

constexpr std::size_t kMostNodes = 512;       // nodes with plots
constexpr std::size_t kMostPoints = 120'000;  // in the plots of all nodes
constexpr std::size_t kLeastPoints = 30;
constexpr std::size_t kUsualPoints = 300;
constexpr std::size_t kMostMetrics = 64;
constexpr int kHigh = 100;      // of a node's plot, in its own units
constexpr int kHighest = 1000;  // of a metric's plot

Series series_of(const json& list) {
  Series series;
  if (!list.is_array()) return series;
  for (const json& value : list)
    series.push_back(value.is_number() ? value.get<double>()
                                       : std::numeric_limits<double>::quiet_NaN());
  return series;
}

/// Replaces every `each` values by their mean, or by their maximum if `is_peak`.
Series thinned(const Series& all, std::size_t each, bool is_peak) {
  Series few;
  for (std::size_t i = 0; i < all.size(); i += each) {
    double sum = 0;
    double most = -std::numeric_limits<double>::infinity();
    std::size_t count = 0;
    for (std::size_t k = i; k < std::min(i + each, all.size()); ++k) {
      if (!std::isfinite(all[k])) continue;
      sum += all[k];
      most = std::max(most, all[k]);
      ++count;
    }
    few.push_back(count == 0 ? std::numeric_limits<double>::quiet_NaN()
                  : is_peak  ? most
                             : sum / static_cast<double>(count));
  }
  return few;
}

std::optional<double> greatest(const Series& series) {
  std::optional<double> most;
  for (const double value : series) {
    if (std::isfinite(value) && (!most || value > *most)) most = value;
  }
  return most;
}

std::optional<double> least(const Series& series) {
  std::optional<double> low;
  for (const double value : series) {
    if (std::isfinite(value) && (!low || value < *low)) low = value;
  }
  return low;
}

/// Where the value lies between `low` (0) and `high` (1). If both bounds are 0, the value is at the
/// bottom; if they are equal but not 0, in the middle.
double part_of(double value, double low, double high) {
  if (!(high > low)) return low == 0 ? 0 : 0.5;
  const double part = (value / 2 - low / 2) / (high / 2 - low / 2);  // the range may overflow
  return std::isfinite(part) ? std::clamp(part, 0.0, 1.0) : 0.5;
}

/// Appends a number to a path, as short as SVG allows.
void add_number(std::string& path, int number, bool is_first) {
  if (number >= 0 && !is_first) path += ' ';
  path += std::to_string(number);
}

/// A path of relative steps to each known value; `low` is at the bottom and `high` at the top of
/// `units` units. The x of a value is its index; `gaps`: whether unknown values break the line.
std::string line_path(const Series& series, double low, double high, int units, bool gaps) {
  std::string path;
  int x = 0;
  int y = 0;
  bool is_drawn = false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!std::isfinite(series[i])) {
      is_drawn = is_drawn && !gaps;
      continue;
    }
    const double part = part_of(series[i], low, high);
    const int next_y = units - static_cast<int>(std::lround(part * units));
    const int next_x = static_cast<int>(i);
    if (!is_drawn) {
      put(path, "M", std::to_string(next_x), " ", std::to_string(next_y), "h0l");
    } else {
      const bool is_first = path.back() == 'l';
      add_number(path, next_x - x, is_first);
      add_number(path, next_y - y, false);
    }
    is_drawn = true;
    x = next_x;
    y = next_y;
  }
  // A path must not contain a command without numbers, not even at its end.
  for (auto at = path.find("lM"); at != std::string::npos; at = path.find("lM", at))
    path.erase(at, 1);
  if (path.ends_with('l')) path.pop_back();
  return path;
}

/// The area between `low` and `high`: the path follows `low` forward and `high` back.
std::string band_path(const Series& low, const Series& high, double bottom, double top, int units) {
  std::string path;
  const auto add = [&](std::size_t i, double value) {
    if (!std::isfinite(value)) return;
    const double part = part_of(value, bottom, top);
    put(path, path.empty() ? "M" : "L", std::to_string(i), " ",
        std::to_string(units - static_cast<int>(std::lround(part * units))));
  };
  for (std::size_t i = 0; i < low.size(); ++i) add(i, low[i]);
  for (std::size_t i = high.size(); i-- > 0;) add(i, high[i]);
  return path.empty() ? "" : path + 'Z';
}

/// The number with all digits that a user may want to see under the pointer.
std::string exact_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

/// A plot whose whole width is the time of the run. `steps`: that time in units of x. Each value is
/// centred on the step that it represents.
std::string plot(std::string_view kind, double steps, int units, double low, double high,
                 std::string_view unit, std::string_view paths) {
  std::string out;
  put(out, "<svg class=\"t ", kind, "\" data-l=\"", exact_number(low), "\" data-m=\"",
      exact_number(high), "\" data-u=\"", unit,
      "\"><svg class=\"z\" width=\"100%\" viewBox=\"-0.5 0 ", short_number(steps, 3), " ",
      std::to_string(units), "\" preserveAspectRatio=\"none\">", paths, "</svg></svg>");
  return out;
}

struct Quantity {
  const char* name;  // in samples.json
  const char* title;
  const char* unit;  // for the script: "cores", "MB", "%", "B/s"
  double scale;      // factor from samples.json to this unit
  bool is_peak;
};
constexpr std::array kQuantities{
    Quantity{"cpu", "CPU", "cores", 0.01, false},
    Quantity{"memory", "Memory", "B", 1e6, true},
    Quantity{"gpu", "GPU", "%", 1, false},
    Quantity{"gpu_memory", "GPU memory", "B", 1e6, true},
    Quantity{"network", "Network", "B/s", 1, false},
    Quantity{"output", "Output", "B/s", 1, false},
};

std::string amount(double value, std::string_view unit) {
  constexpr double kMostBytes = 1e18;
  if (unit == "B" || unit == "B/s")
    return size_text(static_cast<std::uint64_t>(std::clamp(value, 0.0, kMostBytes))) +
           (unit == "B/s" ? "/s" : "");
  if (unit == "%") return short_number(value, 0) + " %";
  return three_digits(value) + ' ' + std::string(unit);
}

/// The plots of all nodes. All plots of a quantity have the same scale.
class NodePlots {
 public:
  NodePlots(const json& samples, double length) : nodes_(json_member(samples, "nodes")) {
    const double step = std::max(json_real(samples, "step_s", 1), 1.0);
    std::size_t rows = 0;
    for (const json& node : nodes_) rows = std::max(rows, json_member(node, "cpu").size());
    const std::size_t points =
        std::clamp(kMostPoints / (count() * kQuantities.size()), kLeastPoints, kUsualPoints);
    each_ = std::max<std::size_t>((rows + points - 1) / points, 1);
    steps_ = length / step / static_cast<double>(each_);
    for (std::size_t i = 0; i < kQuantities.size(); ++i) look_for_most(i);
  }

  std::string text() {
    out_ = "<table class=\"nodes\">\n<thead><tr><th>Node</th>";
    for (std::size_t i = 0; i < kQuantities.size(); ++i) {
      if (!most_[i]) continue;
      put(out_, "<th>", kQuantities[i].title,
          " <small>full height: ", amount(*most_[i], kQuantities[i].unit), "</small></th>");
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (std::size_t i = 0; i < count(); ++i) add_node(nodes_[i]);
    out_ += "</tbody></table>\n";
    if (nodes_.size() > count())
      put(out_, "<p class=\"m\">", std::to_string(nodes_.size() - count()),
          " more nodes are in samples.json.</p>\n");
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::size_t count() const {
    return std::clamp<std::size_t>(nodes_.size(), 1, kMostNodes);
  }

  [[nodiscard]] Series read(const json& node, const Quantity& quantity) const {
    Series series = thinned(series_of(json_member(node, quantity.name)), each_, quantity.is_peak);
    for (double& value : series) value *= quantity.scale;
    return series;
  }

  void look_for_most(std::size_t index) {
    const Quantity& quantity = kQuantities[index];
    std::optional<double>& most = most_[index];
    for (const json& node : nodes_) {
      const auto peak = greatest(read(node, quantity));
      if (peak) most = std::max(most.value_or(0), *peak);
      const double cores = json_real(node, "cores", 0);
      if (peak && std::string_view(quantity.name) == "cpu") most = std::max(*most, cores);
    }
    if (most && std::string_view(quantity.name) == "gpu") most = 100;
  }

  void add_node(const json& node) {
    put(out_, "<tr><th>", html(json_text_of(json_member(node, "node"))), "</th>");
    for (std::size_t i = 0; i < kQuantities.size(); ++i) {
      if (!most_[i]) continue;
      const Quantity& quantity = kQuantities[i];
      const Series series = read(node, quantity);
      const auto peak = greatest(series);
      put(out_, "<td data-q=\"", quantity.title, "\">");
      if (peak) {
        const std::string line = line_path(series, 0, *most_[i], kHigh, true);
        put(out_,
            plot("s", steps_, kHigh, 0, *most_[i], quantity.unit,
                 "<path class=\"v q" + std::to_string(i) + "\" d=\"" + line + "\"/>"),
            "<small>peak ", amount(*peak, quantity.unit), "</small>");
      }
      out_ += "</td>";
    }
    out_ += "</tr>\n";
  }

  const json& nodes_;
  std::size_t each_ = 1;  // samples that become one point
  double steps_ = 1;
  std::array<std::optional<double>, kQuantities.size()> most_;
  std::string out_;
};

std::string metric_plot(const std::string& name, const Series& low, const Series& mean,
                        const Series& high, double steps) {
  const auto bottom = least(low);
  const auto top = greatest(high);
  if (!bottom || !top) return "";
  const auto last =
      std::find_if(mean.rbegin(), mean.rend(), [](double value) { return std::isfinite(value); });
  bool has_band = false;
  for (std::size_t i = 0; i < std::min(low.size(), high.size()); ++i)
    has_band = has_band || low[i] < high[i];
  std::string paths;
  if (has_band)
    put(paths, "<path class=\"band\" d=\"", band_path(low, high, *bottom, *top, kHighest), "\"/>");
  put(paths, "<path class=\"v\" d=\"", line_path(mean, *bottom, *top, kHighest, false), "\"/>");
  std::string out;
  put(out, "<figure><figcaption><b>", html(name), "</b>",
      last == mean.rend() ? "" : "<span class=\"last\">" + metric_number(*last) + "</span>",
      "</figcaption><div class=\"y\"><span>", metric_number(*top), "</span><span>",
      *top > *bottom ? metric_number(*bottom) : "", "</span></div>",
      plot("p", steps, kHighest, *bottom, *top, "", paths), "</figure>\n");
  return out;
}

/// How fast `step` grows between two samples. NaN after a restart, which makes `step` fall, and for
/// the last sample, whose time step was not complete.
Series rate_of(const Series& step, double seconds) {
  Series rate(step.size(), std::numeric_limits<double>::quiet_NaN());
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (!std::isfinite(step[i])) continue;
    if (before && step[i] >= step[*before])
      rate[i] = (step[i] - step[*before]) / (static_cast<double>(i - *before) * seconds);
    before = i;
  }
  if (!rate.empty()) rate.back() = std::numeric_limits<double>::quiet_NaN();
  return rate;
}

}  // namespace

std::string nodes_part(const ReportFiles& files) {
  const json& nodes = json_member(files.samples, "nodes");
  if (!nodes.is_array() || nodes.empty()) return "";
  return "<p class=\"m\">What the ranks of each node used during the run; network: the traffic of "
         "the whole node.</p>\n" +
         NodePlots(files.samples, files.story.length).text();
}

std::string metrics_part(const ReportFiles& files) {
  const json& metrics = json_member(files.samples, "metrics");
  if (!metrics.is_array()) return "";
  const double step = std::max(json_real(files.samples, "step_s", 1), 1.0);
  const double steps = files.story.length / step;
  std::string out;
  for (std::size_t i = 0; i < std::min(metrics.size(), kMostMetrics); ++i) {
    const json& metric = metrics[i];
    const std::string name = json_text_of(json_member(metric, "name"));
    const Series high = series_of(json_member(metric, "high"));
    out += metric_plot(name, series_of(json_member(metric, "low")),
                       series_of(json_member(metric, "mean")), high, steps);
    if (name != "step") continue;
    // Uses the highest value: the mean depends on which ranks reported a value in that time.
    const Series rate = rate_of(high, step);
    out += metric_plot("steps per second", rate, rate, rate, steps);
  }
  if (out.empty()) return "";
  return "<p class=\"m\">Mean of all ranks; the band spans the lowest to the highest value of any "
         "rank.</p>\n<div class=\"plots\">\n" +
         out + "</div>\n";
}

}  // namespace dlaunch
