// Decodes UTF-8 that may be invalid, such as program output. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch {

struct CodePoint {
  char32_t value = 0;
  std::uint8_t size = 0;  // bytes in the text, 1..4
  bool valid = false;     // false: `value` is U+FFFD and replaces these `size` bytes
  bool operator==(const CodePoint&) const = default;
};

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// The code point at the start of `text`, which must not be empty. Overlong forms, surrogates and
/// values above U+10FFFF are invalid (RFC 3629 section 3); the invalid part is as long as The
/// Unicode Standard recommends (chapter 3.9, "substitution of maximal subparts").
[[nodiscard]] CodePoint decode_utf8(std::string_view text);

/// The largest cut <= `wanted` that does not split a sequence; `wanted` itself in invalid text.
/// Requires wanted < text.size().
[[nodiscard]] std::size_t utf8_cut(std::string_view text, std::size_t wanted);

/// Number of code points; each invalid part counts as one.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

}  // namespace dlaunch
