// The messages of rank 0 of a measurement to the launcher: one flat JSON object per line, each with
// its kind. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/result.h"

namespace dlaunch::measure {

/// {"record": "size", "bytes": 8, "times": [1.5, 2], "hosts": ["a", "b"]}
class Record {
 public:
  using Value = std::variant<double, std::string, std::vector<double>, std::vector<std::string>>;

  Record() = default;
  explicit Record(std::string kind) : kind_(std::move(kind)) {}

  /// A number that is not finite is written as null and is missing when read. Whole numbers are
  /// exact up to 2^53.
  Record& set(const std::string& key, double value);
  Record& set(const std::string& key, std::string value);
  Record& set(const std::string& key, std::vector<double> values);
  Record& set(const std::string& key, std::vector<std::string> values);

  [[nodiscard]] const std::string& kind() const { return kind_; }
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  /// 0 or empty if the value is missing or has another type.
  [[nodiscard]] double number(const std::string& key) const;
  [[nodiscard]] std::string text(const std::string& key) const;
  [[nodiscard]] std::vector<double> numbers(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const;

  bool operator==(const Record&) const = default;

 private:
  friend std::string to_json(const Record&);
  std::string kind_;
  std::map<std::string, Value> values_;
};

/// One line, without a newline.
[[nodiscard]] std::string to_json(const Record&);

/// Errors: kInternal, for a line that to_json() did not write.
[[nodiscard]] Result<Record> read_record(std::string_view line);

/// The shortest decimal text that reads back as the same number; "null" for one that is not finite.
void append_number(std::string& out, double value);

}  // namespace dlaunch::measure
