// Reads the files of a run folder into names and values that can be compared. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/result.h"

namespace dlaunch {

/// The content of files of a run folder; empty: the file does not exist.
struct RunTexts {
  std::string id;
  std::string state;  // how it ended, as a sentence
  std::string job_yaml;
  std::string plan_json;
  std::string summary_json;
};

struct RunValue {
  std::string text;              // safe for a terminal
  std::optional<double> number;  // seconds of a timing, value of a metric; nullopt: use `text`
  bool operator==(const RunValue&) const = default;
};

struct RunSection {
  std::string name;  // "job", "origin", "plan", "nodes", "timings", "outcome", "metrics"
  std::vector<std::pair<std::string, RunValue>> values;  // each name occurs once
  bool operator==(const RunSection&) const = default;
};

/// Always all sections, in the order above. In all values, "ID" replaces the id of the run. Ports
/// are left out, because they are new for each attempt. Errors: exit_code::kUsage if a file is
/// damaged.
[[nodiscard]] Result<std::vector<RunSection>> run_values(const RunTexts& texts);

}  // namespace dlaunch
