// The numbers in the brackets of a host list: "7", "001-016".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace dlaunch::spec {

/// Both ends are in it.
struct NumberRange {
  std::uint64_t first = 0;  // 18 digits at most
  std::uint64_t last = 0;   // not less than `first`
  std::size_t width = 1;    // digits that each number has at least: those `first` was written with

  bool operator==(const NumberRange&) const = default;
};

/// "7" or "001-016"; else what is wrong with it, in words for a person.
[[nodiscard]] tl::expected<NumberRange, std::string> parse_number_range(std::string_view text);

/// The number with leading zeros up to `width` digits.
[[nodiscard]] std::string padded(std::uint64_t number, std::size_t width);

}  // namespace dlaunch::spec
