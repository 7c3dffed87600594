// Just enough UTF-8 to check text and to line up a caret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch::spec {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;  // bytes, at least 1
  bool valid = true;       // false: `length` bytes are no UTF-8 (RFC 3629)
};

/// Decodes the code point at `offset`, which is inside the text.
[[nodiscard]] CodePoint decode_utf8(std::string_view text, std::size_t offset);

/// Columns of a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji,
/// else 1. A short list of ranges (Unicode 15, UAX 11), good enough for a caret.
[[nodiscard]] int terminal_width(std::uint32_t code_point);

/// False for what must not reach a terminal as it is: C0, DEL and C1 controls, bidirectional
/// overrides.
[[nodiscard]] bool is_printable(std::uint32_t code_point);

}  // namespace dlaunch::spec
