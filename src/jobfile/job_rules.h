// Which keys of the job file exclude or require each other, for JSON Schema and the documentation.
// validate.cc checks the same rules with messages that name lines; tests/schema compares the two.
#pragma once

#include <span>
#include <string_view>

namespace dlaunch::jobfile {

struct JobRule {
  /// One sentence for the documentation.
  std::string_view text;
  /// JSON Schema of job files that break the rule; empty: JSON Schema cannot express it.
  std::string_view broken{};
};

[[nodiscard]] std::span<const JobRule> job_rules();

/// The definitions that `broken` refers to as #/$defs/NAME: a JSON object of schemas.
[[nodiscard]] std::string_view job_rule_definitions();

}  // namespace dlaunch::jobfile
