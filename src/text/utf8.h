// Decodes UTF-8 that may be invalid, such as program output, and says how a terminal shows it.
// Pure.
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

/// Whether the byte belongs to a sequence but is not its first.
[[nodiscard]] constexpr bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The largest cut <= `wanted` that does not split a sequence; `wanted` itself in invalid text.
/// Requires wanted < text.size().
[[nodiscard]] std::size_t utf8_cut(std::string_view text, std::size_t wanted);

/// Number of code points; each invalid part counts as one.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Terminal columns: 0 for combining marks, 2 for East Asian wide characters and emoji, otherwise
/// 1. Uses a short list of ranges (Unicode 15, UAX 11) that suffices to place a caret.
[[nodiscard]] int terminal_width(char32_t code_point);

/// False for characters that must not reach a terminal: C0, DEL and C1 controls, and characters
/// that reorder or hide text (zero-width and bidirectional marks, line separators).
[[nodiscard]] bool is_printable(char32_t code_point);

}  // namespace dlaunch
