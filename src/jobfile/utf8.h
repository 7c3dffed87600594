// UTF-8 decoding and terminal widths, enough to check text and align a caret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch::jobfile {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;  // bytes, at least 1
  bool valid = true;       // false: these `length` bytes are not UTF-8 (RFC 3629)
};

/// Decodes the code point at `offset`, which is inside the text.
[[nodiscard]] CodePoint decode_utf8(std::string_view text, std::size_t offset);

/// Terminal columns: 0 for combining marks, 2 for East Asian wide characters and emoji, otherwise
/// 1. A short list of ranges (Unicode 15, UAX 11), sufficient for a caret.
[[nodiscard]] int terminal_width(std::uint32_t code_point);

/// False for characters that must not reach a terminal: C0, DEL and C1 controls, bidirectional
/// overrides.
[[nodiscard]] bool is_printable(std::uint32_t code_point);

}  // namespace dlaunch::jobfile
