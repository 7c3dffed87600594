// A table of nvidia-smi --format=csv: a line of names ("power.limit [W]"), then lines of values,
// separated by commas and spaces, without quotes. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::fabric {

/// Refers to the text, which must outlive it. The line of names is the first that contains all
/// needed ones: warnings may precede it. Skips lines with another number of values than names;
/// reads at most 4096 lines.
class Csv {
 public:
  Csv(std::string_view text, std::initializer_list<std::string_view> needed);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] bool has(std::string_view name) const { return column(name).has_value(); }
  /// Empty if there is no such column.
  [[nodiscard]] std::string_view at(std::size_t row, std::string_view name) const;

 private:
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
  std::vector<std::string_view> names_;
  std::vector<std::vector<std::string_view>> rows_;
};

/// A number without sign, truncated to an integer; nullopt for "[N/A]", "[Not Supported]" and the
/// like.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text);

}  // namespace dlaunch::fabric
