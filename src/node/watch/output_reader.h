// What the end of a rank's output shows while the rank runs: last line and metrics. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/pulse.h"
#include "text/metric_pattern.h"

namespace dlaunch {

/// Compiled once for all ranks. An invalid pattern never matches.
class MetricPatterns {
 public:
  explicit MetricPatterns(const std::vector<std::string>& patterns);
  [[nodiscard]] std::size_t size() const { return patterns_.size(); }
  /// The last number that pattern `index` finds in `lines`. Changes each "\r" in `lines` to "\n".
  [[nodiscard]] std::optional<double> last(std::size_t index, std::string& lines) const;

 private:
  std::vector<std::optional<MetricPattern>> patterns_;
};

/// For one rank. Gets the end of each stream now and then, and limits what it looks at: if a rank
/// prints more than kMostLooked in between, only the end counts.
class OutputReader {
 public:
  static constexpr std::size_t kMostLooked = std::size_t{16} << 10;

  explicit OutputReader(std::shared_ptr<const MetricPatterns> patterns)
      : patterns_(std::move(patterns)), found_(patterns_->size()) {}

  /// Where the next look at a stream of `end` bytes should begin.
  [[nodiscard]] std::uint64_t begin_of_look(Stream stream, std::uint64_t end) const;
  /// `bytes` are those of the stream from begin_of_look() on, or a later part of them.
  void look(Stream stream, std::string_view bytes, std::uint64_t begin);

  /// The last line of the stream that was looked at last, blank lines aside.
  [[nodiscard]] const std::string& last_line() const { return last_line_; }
  [[nodiscard]] std::vector<MetricPulse> metrics() const;

 private:
  struct Found {
    std::string value;
    bool in_stdout = false;  // as in the summary, stderr counts only for metrics that stdout lacks
  };

  std::shared_ptr<const MetricPatterns> patterns_;
  std::array<std::uint64_t, 2> line_begins_{};  // of the line without an end, by stream
  std::vector<Found> found_;                    // by metric; an empty value: none
  std::string last_line_;
};

}  // namespace dlaunch
