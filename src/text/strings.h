// Small operations on texts and lists that every layer needs. Pure.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// "1 rank", "2 ranks": a number and its noun, with an "s" except after 1.
template <std::integral Number>
[[nodiscard]] std::string counted(Number n, std::string_view noun) {
  return std::to_string(n).append(" ").append(noun).append(n == 1 ? "" : "s");
}

/// ASCII only, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

/// Changes A-Z to a-z and no other bytes.
[[nodiscard]] std::string lower(std::string_view text);
/// Changes a-z to A-Z and no other bytes.
[[nodiscard]] std::string upper(std::string_view text);

/// The text up to the first "\n", without it.
[[nodiscard]] std::string first_line(std::string_view text);

/// Takes the first line off the beginning of `text`; returns it without its "\n".
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// The words, separated by blanks, tabs and line ends.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);

/// "a, b, c"; `text_of` turns each element into text.
template <class Range, class TextOf = std::identity>
[[nodiscard]] std::string joined(const Range& range, std::string_view separator = ", ",
                                 const TextOf& text_of = {}) {
  std::string out;
  bool is_first = true;
  for (const auto& one : range) {
    if (!is_first) out += separator;
    out += std::invoke(text_of, one);
    is_first = false;
  }
  return out;
}

/// The text without leading and trailing blanks, tabs and line ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// The value with this many digits after the point: "7.50".
[[nodiscard]] std::string decimals(double value, int places);
/// Two decimals below 10, one below 100, else none: "0.75", "7.52", "16.1", "1880".
[[nodiscard]] std::string three_digits(double value);

/// Adds blanks after or before `text` to fill `width` columns; each code point counts as one.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);
[[nodiscard]] std::string right_aligned(std::string_view text, std::size_t width);

/// Whether an element of the list equals `value`.
template <class List, class Value>
[[nodiscard]] constexpr bool contains(const List& list, const Value& value) {
  for (const auto& one : list)
    if (one == value) return true;
  return false;
}

/// What follows the last slash of a path: empty for "a/", the whole path if it has no slash.
[[nodiscard]] std::string_view file_name(std::string_view path);

/// Whether `path` is `folder` or below it. Both are absolute and have no slash at the end.
[[nodiscard]] bool is_in_folder(std::string_view path, std::string_view folder);

}  // namespace dlaunch
