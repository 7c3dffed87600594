// Numbers in text. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace dlaunch {

/// The whole text as a number; nullopt: something else, or beyond the range of Number. "+" and
/// blanks are not accepted, and "-" only if Number is signed.
template <class Number, class... Base>
[[nodiscard]] std::optional<Number> number_of(std::string_view text, Base... base) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// The same, but not below 0.
template <class Number>
[[nodiscard]] std::optional<Number> count_from(std::string_view text) {
  const auto number = number_of<Number>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace dlaunch
