#include "spec/number_range.h"

#include <charconv>
#include <optional>

#include "spec/diagnostics.h"

namespace dlaunch::spec {

namespace {

constexpr std::size_t kMostDigits = 18;  // always fits 64 bits

tl::expected<std::uint64_t, std::string> number_of(std::string_view digits,
                                                   std::string_view whole) {
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) {
    std::string message = in_quotes(whole) + " is not a number or a range such as 01-16";
    if (whole.find('/') != std::string_view::npos)
      message += "; steps (/2) are not known here, list the numbers";
    else if (whole.find(':') != std::string_view::npos)
      message += "; an IPv6 address stands without brackets";
    return tl::unexpected(message);
  }
  if (digits.size() > kMostDigits) {
    return tl::unexpected("a number has at most " + std::to_string(kMostDigits) + " digits here");
  }
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

tl::expected<NumberRange, std::string> parse_number_range(std::string_view text) {
  const auto dash = text.find('-');
  const std::string_view first_digits = text.substr(0, dash);
  const auto first = number_of(first_digits, text);
  if (!first) return tl::unexpected(first.error());
  if (dash == std::string_view::npos) return NumberRange{*first, *first, first_digits.size()};
  const std::string_view last_digits = text.substr(dash + 1);
  const auto last = number_of(last_digits, text);
  if (!last) return tl::unexpected(last.error());
  if (first_digits.empty()) return tl::unexpected(std::string("this range has no start"));
  if (last_digits.empty()) return tl::unexpected(std::string("this range has no end"));
  if (*last < *first)
    return tl::unexpected(std::string("this range goes from the larger number to the smaller one"));
  return NumberRange{*first, *last, first_digits.size()};
}

std::string padded(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

}  // namespace dlaunch::spec
