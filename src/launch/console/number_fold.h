// Lines that differ in one number, as ranks print them: "loaded shard 0", "loaded shard 1". Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// A hash that is the same for lines that differ in numbers only.
[[nodiscard]] std::uint64_t hash_without_numbers(std::string_view line);

/// The number in which lines differ from the first of them. A number is digits with at most one
/// point between them; more points are a version or an address and must be equal.
class NumberFold {
 public:
  /// Whether `line` equals `first`, or differs from it only in the number in which all others do.
  [[nodiscard]] bool fits(std::string_view first, std::string_view line) const;
  /// Takes the value of a line that fits.
  void join(std::string_view first, std::string_view line);

  /// `first`, with the values in the place of the number: "loaded shard <0-7>". Whole numbers are
  /// listed as ranges; for others the smallest and the largest are shown: "loss <0.52-0.57>".
  [[nodiscard]] std::string text(std::string_view first) const;

  /// Values that are held; 0: no line has differed from the first.
  [[nodiscard]] std::size_t values() const { return values_.size(); }

 private:
  [[nodiscard]] std::string values_text() const;

  std::size_t at_ = 0;  // where the number is in the first line, and its size
  std::size_t size_ = 0;
  std::vector<std::string> values_;
};

}  // namespace dlaunch
