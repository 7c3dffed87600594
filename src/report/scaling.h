// How a job's throughput grows with its size, from runs of it at several sizes: `dlaunch scale`.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/run_figures.h"

namespace dlaunch {

/// What a run's throughput is.
struct ScaleMeasure {
  enum class Over {
    sum,    // of all ranks that print it
    rank0,  // what the first rank prints is the total
    each,   // what is printed is of one rank: the mean, times the ranks
  };
  std::string metric;  // empty: from the time that the ranks ran
  Over over = Over::sum;
  /// From the time: whether the work of the whole job is the same at every size. Else that of a
  /// rank is.
  bool strong = false;
};

/// A run of the job at one size.
struct ScaleRun {
  std::string run;  // its id; empty: none was made
  std::uint32_t nodes = 0, ranks = 0;
  std::optional<double> throughput;  // nullopt: the run has failed, or nothing was found
  std::string failure;               // why, in one line; empty where there is a throughput
};

/// The summary of a run as such. A run that has failed has no throughput, whatever it has printed.
[[nodiscard]] ScaleRun scale_run(const RunFigures& figures, const ScaleMeasure& measure);

/// All runs of one size.
struct ScaleRow {
  std::uint32_t count = 0;  // of nodes or ranks, as asked for
  std::vector<ScaleRun> runs;
};

struct ScaleTable {
  std::string name;  // of the job
  bool by_nodes = true;
  ScaleMeasure measure;
  std::vector<ScaleRow> rows;  // ascending by count
};

/// What comes out for a row. Throughputs are those of the runs that have one.
struct ScaleFigures {
  std::uint32_t nodes = 0, ranks = 0;
  double mean = 0;
  std::optional<double> deviation;   // of a sample; from two runs on
  std::optional<double> speed_up;    // against the first row that has a throughput; nullopt: that
  std::optional<double> efficiency;  // row's is 0. Efficiency: the speed-up, by ranks
};

/// nullopt: no run has a throughput. Index = that of the row.
[[nodiscard]] std::vector<std::optional<ScaleFigures>> scale_figures(const ScaleTable& table);

/// 80 columns; a line for each row, and one for each failure.
[[nodiscard]] std::string scale_text(const ScaleTable& table);
/// One object; "format": 1.
[[nodiscard]] std::string scale_json(const ScaleTable& table);

/// 1, 2, 4 ... below `most`, and `most`.
[[nodiscard]] std::vector<std::uint32_t> doubling_counts(std::uint32_t most);

/// "1,2,4": ascending, each once. Errors: exit_code::kUsage, with what is wrong.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_counts(const std::string& text);

}  // namespace dlaunch
