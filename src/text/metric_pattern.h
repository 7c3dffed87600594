// A pattern that finds a number in what a program prints: "images/sec: ([0-9.]+)". Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace dlaunch {

/// Why it can be no metric, as the end of a sentence: "has no group: ..."; empty: it can.
[[nodiscard]] std::string metric_problem(const std::string& pattern);

/// What was found, in the order of the text.
struct MetricMatches {
  std::vector<double> values;     // the last 65536 or more
  std::uint64_t matches = 0;      // all that are numbers
  std::uint64_t not_numbers = 0;  // groups that matched something else, such as "1,234" or "nan"
  std::string not_number;         // the first of them
};

/// RE2 syntax (linear time, whatever pattern and text). Thread-safe.
class MetricPattern {
 public:
  /// One of which metric_problem() says nothing.
  explicit MetricPattern(const std::string& pattern);
  MetricPattern(MetricPattern&&) noexcept;
  MetricPattern& operator=(MetricPattern&&) noexcept;
  ~MetricPattern();

  /// Adds the matches of each line; a line ends with "\n" or, as progress bars have it, "\r". No
  /// match goes beyond its line; "^" and "$" are its ends. Several matches on one line all count.
  /// `lines` is changed: every "\r" becomes "\n".
  void find(std::string& lines, MetricMatches& found) const;

 private:
  std::unique_ptr<re2::RE2> pattern_;
};

/// The median of the last half: what a run came to after its first steps. 0 where there is none.
[[nodiscard]] double steady_value(const std::vector<double>& values);

}  // namespace dlaunch
