// What differs between two runs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/run_values.h"

namespace dlaunch {

struct RunDifference {
  std::string name;
  RunValue first;   // empty text: the first run has no such value
  RunValue second;  // likewise for the second run
  bool operator==(const RunDifference&) const = default;
};

struct SectionComparison {
  std::string name;
  std::vector<RunDifference> differences;
  std::size_t equal = 0;  // values that do not differ
  bool operator==(const SectionComparison&) const = default;
};

/// Equal differences of several ranks become one: "ranks 0-3 cpus". Two timings count as equal if
/// they differ by less than 50 ms or 2 %, two metrics if they differ by less than 0.1 %. Both lists
/// come from run_values().
[[nodiscard]] std::vector<SectionComparison> compare_runs(const std::vector<RunSection>& first,
                                                          const std::vector<RunSection>& second);

/// Sections without a difference are only counted. `columns`: width of the terminal; cuts long
/// values to it.
[[nodiscard]] std::string comparison_text(const RunTexts& first, const RunTexts& second,
                                          const std::vector<SectionComparison>& sections,
                                          std::size_t columns);

/// docs/reference/commands.md has the members.
[[nodiscard]] std::string comparison_json(const RunTexts& first, const RunTexts& second,
                                          const std::vector<SectionComparison>& sections);

}  // namespace dlaunch
