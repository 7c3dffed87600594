#include "fabric/csv.h"

#include <algorithm>
#include <charconv>

#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  constexpr std::size_t kMost = 128;
  std::vector<std::string_view> cells;
  while (cells.size() < kMost) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

}  // namespace

Csv::Csv(std::string_view text, std::initializer_list<std::string_view> needed) {
  constexpr std::size_t kMost = 4096;
  while (!text.empty() && rows_.size() < kMost) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, newline));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.empty()) continue;
    std::vector<std::string_view> cells = cells_of(line);
    if (names_.empty()) {
      for (const std::string_view cell : cells)
        names_.push_back(trimmed(cell.substr(0, cell.find('['))));
      const bool is_header = std::all_of(needed.begin(), needed.end(),
                                         [&](std::string_view name) { return has(name); });
      if (!is_header) names_.clear();
    } else if (cells.size() == names_.size()) {
      rows_.push_back(std::move(cells));
    }
  }
}

std::optional<std::size_t> Csv::column(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::string_view Csv::at(std::size_t row, std::string_view name) const {
  const auto found = column(name);
  return found ? rows_[row][*found] : std::string_view();
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop == text.data()) return std::nullopt;
  std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const bool is_fraction =
      std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_fraction ? std::optional(number) : std::nullopt;
}

}  // namespace dlaunch::fabric
