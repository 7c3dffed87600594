#include "measure/scale/scaling.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "text/json_text.h"
#include "text/number.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kMostCount = 100'000;

const char* name_of(ScaleMeasure::Over over) {
  switch (over) {
    case ScaleMeasure::Over::sum:
      return "sum";
    case ScaleMeasure::Over::rank0:
      return "rank0";
    case ScaleMeasure::Over::each:
      return "each";
  }
  return "";
}

double reduced(const std::vector<RunFigures::OfRank>& values, ScaleMeasure::Over over,
               std::uint32_t ranks) {
  if (over == ScaleMeasure::Over::rank0) return values.front().steady;
  double sum = 0;
  for (const auto& value : values) sum += value.steady;
  return over == ScaleMeasure::Over::sum ? sum : sum / static_cast<double>(values.size()) * ranks;
}

std::string number_text(double value) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%.4g", value));
  // Large ones as whole numbers: no "1.234e+04".
  constexpr double kMost = 1e12;
  if (value >= 10'000 && value < kMost)
    static_cast<void>(std::snprintf(text, sizeof text, "%.0f", value));
  return text;
}

std::string percent_text(double part) {
  constexpr double kHundred = 100;
  return decimals(part * kHundred, 0) + " %";
}

std::optional<ScaleFigures> figures_of(const ScaleRow& row) {
  ScaleFigures figures;
  std::vector<double> values;
  for (const ScaleRun& run : row.runs) {
    if (!run.throughput) continue;
    figures.nodes = run.nodes;
    figures.ranks = run.ranks;
    values.push_back(*run.throughput);
    figures.mean += *run.throughput;
  }
  if (values.empty()) return std::nullopt;
  figures.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return figures;
  double squares = 0;
  for (const double value : values) squares += (value - figures.mean) * (value - figures.mean);
  figures.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return figures;
}

/// The heading of the throughput column.
std::string heading(const ScaleMeasure& measure) {
  if (measure.metric.empty()) return measure.strong ? "jobs/s" : "ranks' work/s";
  constexpr std::size_t kColumns = 24;
  return cut_to_columns(plain_line(measure.metric), kColumns);
}

/// How the throughput was found, for the line below the table.
std::string meaning(const ScaleMeasure& measure) {
  if (measure.metric.empty())
    return measure.strong
               ? "from how long the ranks ran; the whole job's work is the same at every size"
               : "from how long the ranks ran; a rank's work is the same at every size (else: "
                 "--strong)";
  const std::string steady = "median of the last half of each rank's values";
  switch (measure.over) {
    case ScaleMeasure::Over::sum:
      return steady + ", summed over the ranks that print it";
    case ScaleMeasure::Over::rank0:
      return steady + ", of the first rank that prints it";
    case ScaleMeasure::Over::each:
      return steady + ", averaged over the ranks that print it, times the number of ranks";
  }
  return "";
}

void append_failures(std::string& out, const ScaleTable& table) {
  for (const ScaleRow& row : table.rows) {
    const std::string label = counted(row.count, table.by_nodes ? "node" : "rank") + ": ";
    std::set<std::string> said;
    for (const ScaleRun& run : row.runs) {
      if (run.throughput || !said.insert(run.failure).second) continue;
      append_wrapped(out, label, std::string(label.size(), ' '), plain_line(run.failure));
    }
  }
}

/// A sign that each rank prints the total.
bool grows_too_much(const std::vector<std::optional<ScaleFigures>>& figures) {
  return std::any_of(figures.begin(), figures.end(), [](const auto& one) {
    constexpr double kImplausible = 1.5;
    return one && one->efficiency.value_or(0) > kImplausible;
  });
}

void write_real(JsonText& json, const char* name, std::optional<double> value) {
  json.key(name);
  value ? json.real(*value) : json.null();
}

void write_row(JsonText& json, const ScaleRow& row, const std::optional<ScaleFigures>& figures) {
  json.line(4).begin_object().key("count").number(row.count);
  json.key("nodes");
  figures ? json.number(figures->nodes) : json.null();
  json.key("ranks");
  figures ? json.number(figures->ranks) : json.null();
  write_real(json, "throughput", figures ? std::optional(figures->mean) : std::nullopt);
  write_real(json, "deviation", figures ? figures->deviation : std::nullopt);
  write_real(json, "speed_up", figures ? figures->speed_up : std::nullopt);
  write_real(json, "efficiency", figures ? figures->efficiency : std::nullopt);
  json.key("runs").begin_array();
  for (const ScaleRun& run : row.runs) {
    json.line(6).begin_object().key("run").string_or_null(run.run);
    write_real(json, "throughput", run.throughput);
    json.key("failure").string_or_null(run.failure).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

ScaleRun scale_run(const RunFigures& figures, const ScaleMeasure& measure) {
  ScaleRun run{figures.ending.run, figures.nodes, figures.ending.ranks, {}, {}};
  if (figures.ending.exit_code != 0) {
    run.failure = ending_text(figures.ending);
    if (!figures.path.empty()) run.failure += ", logs in " + figures.path;
    return run;
  }
  if (measure.metric.empty()) {
    if (!figures.ran_s || *figures.ran_s <= 0) {
      run.failure = "the running time of its ranks is not known";
    } else {
      run.throughput = (measure.strong ? 1.0 : static_cast<double>(run.ranks)) / *figures.ran_s;
    }
    return run;
  }
  const auto found = figures.metrics.find(measure.metric);
  if (found == figures.metrics.end() || found->second.empty()) {
    run.failure = "no line of the output matches metrics." + measure.metric;
    if (!figures.path.empty()) run.failure += ", logs in " + figures.path;
  } else {
    run.throughput = reduced(found->second, measure.over, run.ranks);
  }
  return run;
}

std::vector<std::optional<ScaleFigures>> scale_figures(const ScaleTable& table) {
  std::vector<std::optional<ScaleFigures>> all;
  std::optional<ScaleFigures> first;
  for (const ScaleRow& row : table.rows) {
    auto figures = figures_of(row);
    if (figures && !first) first = figures;
    if (figures && first->mean > 0 && first->ranks > 0 && figures->ranks > 0) {
      figures->speed_up = figures->mean / first->mean;
      figures->efficiency = *figures->speed_up * first->ranks / figures->ranks;
    }
    all.push_back(figures);
  }
  return all;
}

std::string scale_text(const ScaleTable& table) {
  const auto figures = scale_figures(table);
  std::vector<Cells> rows = {
      {"nodes", "ranks", heading(table.measure), "+-", "speed-up", "efficiency"}};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = figures[i];
    const std::string count = std::to_string(table.rows[i].count);
    if (!row) {
      rows.push_back(
          {table.by_nodes ? count : "-", table.by_nodes ? "-" : count, "failed", "-", "-", "-"});
      continue;
    }
    rows.push_back({std::to_string(row->nodes), std::to_string(row->ranks), number_text(row->mean),
                    row->deviation ? number_text(*row->deviation) : "-",
                    row->speed_up ? decimals(*row->speed_up, 2) : "-",
                    row->efficiency ? percent_text(*row->efficiency) : "-"});
  }
  std::string out = table_text(rows, 0, rows.front().size());
  append_wrapped(out, heading(table.measure) + ": ", "  ", meaning(table.measure));
  if (grows_too_much(figures))
    append_wrapped(out, "note: ", "      ",
                   "throughput grows faster than the number of ranks; if every rank prints the "
                   "total, use --over rank0");
  append_failures(out, table);
  return out;
}

std::string scale_json(const ScaleTable& table) {
  const auto figures = scale_figures(table);
  std::string out;
  JsonText json(out);
  json.begin_object().line(2).key("format").number(1).line(2).key("name").string(table.name);
  json.line(2).key("by").string(table.by_nodes ? "nodes" : "ranks");
  json.line(2).key("metric").string_or_null(table.measure.metric).line(2).key("over");
  table.measure.metric.empty() ? json.null() : json.string(name_of(table.measure.over));
  json.line(2).key("scaling").string(table.measure.strong ? "strong" : "weak");
  json.line(2).key("rows").begin_array();
  for (std::size_t i = 0; i < table.rows.size(); ++i) write_row(json, table.rows[i], figures[i]);
  json.line(2).end_array().line(0).end_object();
  return out + '\n';
}

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

std::vector<std::uint32_t> doubling_counts(std::uint32_t most) {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count < most && count <= kMostCount; count *= 2)
    counts.push_back(count);
  counts.push_back(std::max<std::uint32_t>(most, 1));
  return counts;
}

Result<std::vector<std::uint32_t>> parse_counts(const std::string& text) {
  std::set<std::uint32_t> counts;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    const auto count = number_of<std::uint32_t>(word);
    if (!count || *count < 1 || *count > kMostCount)
      return fail(exit_code::kUsage, "--counts: \"" + cut_to_columns(plain_line(text), 60) +
                                         "\": expected a list of numbers such as 1,2,4");
    counts.insert(*count);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return std::vector<std::uint32_t>(counts.begin(), counts.end());
}

}  // namespace dlaunch
