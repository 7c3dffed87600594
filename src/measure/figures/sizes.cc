#include "measure/figures/sizes.h"

#include <cctype>
#include <charconv>

namespace dlaunch::measure {

namespace {

constexpr std::string_view kUnits = "KMGT";

/// The power of 1024 of a unit; -1: unknown.
int power_of(std::string_view unit) {
  if (unit.empty() || unit == "b" || unit == "B") return 0;
  const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
  const std::size_t at = kUnits.find(letter);
  const std::string_view rest = unit.substr(1);
  const bool known = rest.empty() || rest == "b" || rest == "B" || rest == "iB" || rest == "ib";
  return at == std::string_view::npos || !known ? -1 : static_cast<int>(at) + 1;
}

}  // namespace

Result<std::uint64_t> read_size(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const int power =
      error == std::errc() ? power_of({stop, static_cast<std::size_t>(end - stop)}) : -1;
  if (power < 0) {
    return fail(exit_code::kUsage, '"' + std::string(text) +
                                       "\": expected a whole number of bytes, with K, M or G for "
                                       "powers of 1024, for example 64K");
  }
  const std::uint64_t unit = std::uint64_t{1} << (10U * static_cast<unsigned>(power));
  if (number > kMostBytes / unit)
    return fail(exit_code::kUsage, '"' + std::string(text) + "\" is more than 1 TiB");
  return number * unit;
}

std::string short_size(std::uint64_t bytes) {
  std::uint64_t whole = bytes;
  std::size_t unit = 0;
  while (whole >= 1024 && whole % 1024 == 0 && unit < kUnits.size()) {
    whole /= 1024;
    ++unit;
  }
  // 1.5M instead of 1536K.
  if (whole > 1024 && whole % 512 == 0 && unit < kUnits.size())
    return std::to_string(whole / 1024) + ".5" + kUnits[unit];
  return std::to_string(whole) + (unit > 0 ? std::string(1, kUnits[unit - 1]) : "");
}

Result<std::vector<std::uint64_t>> sizes_of(const SizeSeries& series, std::uint64_t type_size) {
  if (series.first > series.last) {
    return fail(exit_code::kUsage, "the smallest size, " + short_size(series.first) +
                                       ", is above the largest, " + short_size(series.last));
  }
  if (series.first == 0 && series.step == 0)
    return fail(exit_code::kUsage, "the smallest size must not be 0");
  if (series.step == 0 && series.factor < 2)
    return fail(exit_code::kUsage, "the step factor must be 2 or more");
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = series.first; bytes <= series.last;) {
    if (bytes % type_size != 0) {
      return fail(exit_code::kUsage, "a size of " + std::to_string(bytes) +
                                         " bytes is not a multiple of the type's " +
                                         std::to_string(type_size));
    }
    if (sizes.size() == kMostSizes) {
      return fail(exit_code::kUsage, "more than " + std::to_string(kMostSizes) + " sizes");
    }
    sizes.push_back(bytes);
    if (series.step == 0 && bytes > series.last / series.factor)
      break;  // the product could overflow
    bytes = series.step > 0 ? bytes + series.step : bytes * series.factor;
  }
  return sizes;
}

}  // namespace dlaunch::measure
