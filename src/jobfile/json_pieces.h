// Builds JSON from pieces that are JSON already; for rare output, not for hot paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// The same JSON formatted for reading: two spaces per level, arrays without objects on one line.
/// No final line feed.
[[nodiscard]] std::string indented_json(std::string_view json);

}  // namespace dlaunch::jobfile
