// The JSON Schema of the job file, for editors and for validation without dlaunch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/field_table.h"

namespace dlaunch::jobfile {

[[nodiscard]] std::string json_string(std::string_view text);
[[nodiscard]] std::string json_array(const std::vector<std::string>& pieces);
/// A JSON array of strings.
[[nodiscard]] std::string json_strings(const std::vector<std::string_view>& texts);

class JsonObject {
 public:
  /// `json` is a complete value.
  JsonObject& put(std::string_view key, std::string_view json);
  JsonObject& put_string(std::string_view key, std::string_view text) {
    return put(key, json_string(text));
  }
  JsonObject& put_number(std::string_view key, std::int64_t number) {
    return put(key, std::to_string(number));
  }
  /// Adds the members of another object.
  JsonObject& put_members(std::string_view object);
  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

/// `json` formatted for reading: two spaces per level, arrays without objects on one line.
/// No final line feed.
[[nodiscard]] std::string indented_json(std::string_view json);

/// The values that ValueReader accepts for `field`, without its mapping form and without the items
/// of a record_list. The patterns mean the same in ECMA-262 and Python.
[[nodiscard]] JsonObject value_schema(const Field& field);

/// The default as JSON; empty: the field has none.
[[nodiscard]] std::string default_json(const Field& field);

/// JSON Schema draft 2020-12, generated from the field table. It leaves out keys and keywords that
/// this version does not support, so it accepts what read_job() accepts. Not expressible: sums and
/// comparisons of several values (job_rules.h), the longest duration, and that 3.0 is not an
/// integer. Ends with a line feed.
[[nodiscard]] std::string json_schema();

}  // namespace dlaunch::jobfile
