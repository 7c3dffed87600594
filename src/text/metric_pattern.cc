#include "text/metric_pattern.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <re2/re2.h>

#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::size_t kKept = 65536;  // values; at one value per second, 18 hours

RE2::Options options() {
  RE2::Options chosen;
  chosen.set_log_errors(false);
  chosen.set_never_nl(true);
  // Latin-1 lets patterns match bytes that are not UTF-8: programs may print anything.
  chosen.set_encoding(RE2::Options::EncodingLatin1);
  return chosen;
}

/// Makes "^" and "$" match at the ends of lines.
std::string by_lines(const std::string& pattern) {
  return "(?m)" + pattern;
}

/// The whole text as a finite number.
std::optional<double> read_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = number_of<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

void add(std::string_view group, MetricMatches& found) {
  const auto number = read_number(group);
  if (!number) {
    constexpr std::size_t kShown = 40;
    if (found.not_numbers++ == 0) found.not_number = group.substr(0, kShown);
    return;
  }
  ++found.matches;
  found.values.push_back(*number);
  if (found.values.size() > 2 * kKept)
    found.values.erase(found.values.begin(), found.values.end() - std::ptrdiff_t{kKept});
}

}  // namespace

std::string metric_problem(const std::string& pattern) {
  constexpr std::size_t kMost = 1000;
  if (pattern.size() > kMost) return "is longer than 1000 characters";
  const RE2 compiled(by_lines(pattern), options());
  if (!compiled.ok()) return "is not an RE2 pattern: " + compiled.error();
  const int groups = compiled.NumberOfCapturingGroups();
  if (groups == 0) return "has no group: put the number into ( )";
  if (groups > 1)
    return "has " + std::to_string(groups) + " groups; write (?: ) for all but the number";
  return {};
}

MetricPattern::MetricPattern(const std::string& pattern)
    : pattern_(std::make_unique<RE2>(by_lines(pattern), options())) {}
MetricPattern::MetricPattern(MetricPattern&&) noexcept = default;
MetricPattern& MetricPattern::operator=(MetricPattern&&) noexcept = default;
MetricPattern::~MetricPattern() = default;

void MetricPattern::find(std::string& lines, MetricMatches& found) const {
  std::replace(lines.begin(), lines.end(), '\r', '\n');
  const re2::StringPiece text(lines);
  std::size_t at = 0;
  re2::StringPiece parts[2];  // the match, its group
  while (at <= lines.size() && pattern_->Match(text, at, lines.size(), RE2::UNANCHORED, parts, 2)) {
    if (parts[1].data() != nullptr) add({parts[1].data(), parts[1].size()}, found);
    const auto end = static_cast<std::size_t>(parts[0].data() - lines.data()) + parts[0].size();
    at = parts[0].empty() ? end + 1 : end;  // otherwise an empty match would repeat forever
  }
}

double steady_value(const std::vector<double>& values) {
  if (values.empty()) return 0;
  std::vector<double> half(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                           values.end());
  const auto middle = half.begin() + static_cast<std::ptrdiff_t>(half.size() / 2);
  std::nth_element(half.begin(), middle, half.end());
  if (half.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(half.begin(), middle)) / 2;
}

}  // namespace dlaunch
