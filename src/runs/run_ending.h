// RunEnding and RunFigures: how a run ended and its figures, read from summary.json. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/exit_status.h"
#include "model/result.h"

namespace dlaunch {

struct RunEnding {
  std::string run;
  std::string name;
  int exit_code = 0;
  std::string cause;  // a name_of(Cause), or one of a later version of dlaunch
  std::string detail;
  std::string signal;      // when cancelled; empty: its front had ended
  std::string slurm_said;  // why Slurm sent the signal; empty: unknown
  std::chrono::nanoseconds elapsed{0};
  std::string checkpoint;  // text of `checkpoint` in summary.json; empty: nothing is known
  std::optional<std::chrono::nanoseconds> checkpoint_age;  // at the end; nullopt: none was written
  std::uint32_t ranks = 0;                                 // 0: there was no plan
  std::uint32_t attempt = 0;
  std::optional<std::uint32_t> first;  // the rank that failed first
  std::string first_node;
  std::vector<std::uint32_t> left_early;  // exited with 0, and `first` failed because of that
  std::string first_error;                // why `first` could not be started
  std::optional<ExitStatus> first_status;
  struct Lost {
    std::string node;
    std::string what;  // empty: another failure was known first
    bool operator==(const Lost&) const = default;
  };
  std::vector<Lost> lost_nodes;
  bool operator==(const RunEnding&) const = default;
};

[[nodiscard]] Result<RunEnding> parse_summary(std::string_view json);

/// "done in 3 min 12 s", "failed after 12.4 s: rank 5 on node1 exited with code 7",
/// "stopped by SIGTERM after 2.0 s". Safe for a terminal.
[[nodiscard]] std::string ending_text(const RunEnding& ending);

/// The same in at most 12 columns, for a table: "0", "7, rank 5", "143 SIGTERM", "124 limit".
[[nodiscard]] std::string ending_code(const RunEnding& ending);

/// The measurements of a run.
struct RunFigures {
  RunEnding ending;
  std::string path;             // of the run's folder, as dlaunch showed it
  std::uint32_t nodes = 0;      // those with ranks
  std::optional<double> ran_s;  // from the start of the first rank to the end of the last; nullopt:
                                // some have not ended
  struct OfRank {
    std::uint32_t rank = 0;
    double steady = 0;
    bool operator==(const OfRank&) const = default;
  };
  std::map<std::string, std::vector<OfRank>> metrics;  // ascending by rank; empty: no match
  bool operator==(const RunFigures&) const = default;
};

/// Errors: exit_code::kUsage, if it is not a summary.
[[nodiscard]] Result<RunFigures> parse_run_figures(std::string_view summary_json);

}  // namespace dlaunch
