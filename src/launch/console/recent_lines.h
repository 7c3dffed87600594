// RecentLines remembers which sources the last lines on a console came from. Pure; one thread at a
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

namespace dlaunch {

/// Remembers the last kMost lines.
class RecentLines {
 public:
  static constexpr std::size_t kMost = 256;

  /// `lines` more lines from `source`, a number chosen by the caller.
  void add(std::size_t source, std::size_t lines) {
    if (lines == 0) return;
    if (!runs_.empty() && runs_.back().first == source) {
      runs_.back().second += lines;
    } else {
      runs_.emplace_back(source, lines);
    }
    known_ += lines;
    while (known_ - runs_.front().second >= kMost) {
      known_ -= runs_.front().second;
      runs_.pop_front();
    }
  }

  /// How many of the last `window` lines are from `source`.
  [[nodiscard]] std::size_t count(std::size_t source, std::size_t window) const {
    std::size_t found = 0;
    for (auto run = runs_.rbegin(); run != runs_.rend() && window > 0; ++run) {
      const std::size_t lines = std::min(run->second, window);
      if (run->first == source) found += lines;
      window -= lines;
    }
    return found;
  }

 private:
  std::deque<std::pair<std::size_t, std::size_t>> runs_;  // source, how many lines
  std::size_t known_ = 0;
};

}  // namespace dlaunch
