// Patterns that find numbers in the output of programs: "images/sec: ([0-9.]+)". Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace dlaunch {

/// Why `pattern` is not a valid metric, as the end of a sentence ("has no group: ..."); empty: it
/// is valid.
[[nodiscard]] std::string metric_problem(const std::string& pattern);

/// The numbers that a pattern found, in the order of the text.
struct MetricMatches {
  std::vector<double> values;     // all of them, or at least the last 65536
  std::uint64_t matches = 0;      // how many numbers were found
  std::uint64_t not_numbers = 0;  // groups that matched non-numbers such as "1,234" or "nan"
  std::string not_number;         // the first of those
};

/// RE2 syntax (linear time for any pattern and text). Thread-safe.
class MetricPattern {
 public:
  /// Requires that metric_problem() is empty.
  explicit MetricPattern(const std::string& pattern);
  MetricPattern(MetricPattern&&) noexcept;
  MetricPattern& operator=(MetricPattern&&) noexcept;
  ~MetricPattern();

  /// Adds the matches in each line; a line ends with "\n" or, in progress bars, "\r". Matches do
  /// not span lines; "^" and "$" are the ends of lines. All matches on a line count. Changes every
  /// "\r" in `lines` to "\n".
  void find(std::string& lines, MetricMatches& found) const;

 private:
  std::unique_ptr<re2::RE2> pattern_;
};

/// The median of the last half, which excludes the first steps of a run. 0 if there are no values.
[[nodiscard]] double steady_value(const std::vector<double>& values);

}  // namespace dlaunch
