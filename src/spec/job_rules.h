// Which keys of the job file exclude or need each other, as JSON Schema and the documentation say
// it. validate.cc refuses the same with messages that name lines; tests/schema holds the two
// against each other.
#pragma once

#include <span>
#include <string_view>

namespace dlaunch::spec {

struct JobRule {
  /// The rule holds where both can be used: keys, or "launch: once".
  std::string_view first;
  std::string_view second;
  /// One sentence for a person.
  std::string_view text;
  /// JSON Schema of the job files that break it; empty: JSON Schema has no words for it.
  std::string_view broken{};
};

[[nodiscard]] std::span<const JobRule> job_rules();

/// What `broken` refers to as #/$defs/NAME: a JSON object of schemas.
[[nodiscard]] std::string_view job_rule_definitions();

/// True if the key, any key of the section of that name, or the word of a key ("launch: once") can
/// be used in this version.
[[nodiscard]] bool is_available(std::string_view key);

}  // namespace dlaunch::spec
