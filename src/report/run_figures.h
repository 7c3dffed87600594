// What a run has come to, in numbers, as its summary.json tells it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"
#include "report/run_ending.h"

namespace dlaunch {

struct RunFigures {
  RunEnding ending;
  std::string path;             // of the run's folder, as dlaunch showed it
  std::uint32_t nodes = 0;      // on which there were ranks
  std::optional<double> ran_s;  // from the start of the first rank to the end of the last; nullopt:
                                // some have not ended
  struct OfRank {
    std::uint32_t rank = 0;
    double steady = 0;
    bool operator==(const OfRank&) const = default;
  };
  std::map<std::string, std::vector<OfRank>> metrics;  // ascending by rank; empty: nothing found
  bool operator==(const RunFigures&) const = default;
};

/// Errors: exit_code::kUsage, for what is no summary.
[[nodiscard]] Result<RunFigures> parse_run_figures(std::string_view summary_json);

}  // namespace dlaunch
