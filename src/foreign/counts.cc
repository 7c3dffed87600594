#include "foreign/counts.h"

#include <charconv>

namespace dlaunch::foreign {

namespace {

constexpr std::size_t kMostNodes = 65'536;

/// Takes a number of 1 or more from the front of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> expand_counts(std::string_view text) {
  std::vector<std::uint32_t> counts;
  while (true) {
    const auto count = take_number(text);
    if (!count) return std::nullopt;
    std::uint32_t times = 1;
    if (text.starts_with("(x")) {
      text.remove_prefix(2);
      const auto repeated = take_number(text);
      if (!repeated || !text.starts_with(')')) return std::nullopt;
      text.remove_prefix(1);
      times = *repeated;
    }
    if (counts.size() + times > kMostNodes) return std::nullopt;
    counts.insert(counts.end(), times, *count);
    if (text.empty()) return counts;
    if (!text.starts_with(',')) return std::nullopt;
    text.remove_prefix(1);
  }
}

}  // namespace dlaunch::foreign
