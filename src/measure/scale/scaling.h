// How a job's throughput grows with its size, from runs of it at several sizes: `dlaunch scale`.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/figures/svg_plot.h"
#include "runs/run_ending.h"

namespace dlaunch {

/// How the throughput of a run is found.
struct ScaleMeasure {
  enum class Over {
    sum,    // the sum over all ranks that print it
    rank0,  // the first rank prints the total
    each,   // each value is one rank's: their mean, times the number of ranks
  };
  std::string metric;  // empty: derived from how long the ranks ran
  Over over = Over::sum;
  /// Without a metric: the work of the whole job is the same at every size, not that of a rank.
  bool strong = false;
};

/// A run of the job at one size.
struct ScaleRun {
  std::string run;  // its id; empty: there was no run
  std::uint32_t nodes = 0, ranks = 0;
  std::optional<double> throughput;  // nullopt: the run failed, or its throughput was not found
  std::string failure;               // the reason, in one line; else empty
};

/// The figures of a run, from its summary. A failed run has no throughput, whatever it printed.
[[nodiscard]] ScaleRun scale_run(const RunFigures& figures, const ScaleMeasure& measure);

/// All runs of one size.
struct ScaleRow {
  std::uint32_t count = 0;  // of nodes or ranks, as requested
  std::vector<ScaleRun> runs;
};

struct ScaleTable {
  std::string name;  // of the job
  bool by_nodes = true;
  ScaleMeasure measure;
  std::vector<ScaleRow> rows;  // ascending by count
};

/// The figures of a row, over its runs that have a throughput.
struct ScaleFigures {
  std::uint32_t nodes = 0, ranks = 0;
  double mean = 0;
  std::optional<double> deviation;  // sample standard deviation; nullopt: a single run
  /// Relative to the first row that has a throughput; nullopt if its throughput is 0.
  std::optional<double> speed_up;
  std::optional<double> efficiency;  // the speed-up, divided by the growth in ranks
};

/// Index = row; nullopt: no run of it has a throughput.
[[nodiscard]] std::vector<std::optional<ScaleFigures>> scale_figures(const ScaleTable& table);

/// 80 columns; a line for each row and for each failure.
[[nodiscard]] std::string scale_text(const ScaleTable& table);
/// One object; "format": 1.
[[nodiscard]] std::string scale_json(const ScaleTable& table);

/// For --plot: throughput beside linear growth, and efficiency in per cent, over nodes or ranks.
/// Sizes without a throughput are left out.
[[nodiscard]] measure::Plot plot_of(const ScaleTable& table);

/// 1, 2, 4 ... below `most`, and `most`.
[[nodiscard]] std::vector<std::uint32_t> doubling_counts(std::uint32_t most);

/// "1,2,4": ascending, each once. Errors: exit_code::kUsage, with what is wrong.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_counts(const std::string& text);

}  // namespace dlaunch
