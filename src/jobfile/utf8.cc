#include "jobfile/utf8.h"

#include <array>

namespace dlaunch::jobfile {

namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array<Range, 7> kCombining{{{0x0300, 0x036f},
                                           {0x1ab0, 0x1aff},
                                           {0x1dc0, 0x1dff},
                                           {0x200b, 0x200d},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f},
                                           {0xfe20, 0xfe2f}}};

constexpr std::array<Range, 11> kWide{{{0x1100, 0x115f},
                                       {0x2e80, 0x303e},
                                       {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},
                                       {0x4e00, 0x9fff},
                                       {0xa000, 0xa4cf},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},
                                       {0x1f300, 0x3fffd}}};

template <std::size_t N>
bool contains(const std::array<Range, N>& ranges, std::uint32_t value) {
  for (const Range& range : ranges) {
    if (value >= range.first && value <= range.last) return true;
  }
  return false;
}

std::size_t length_of_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// Shortest form only, no surrogates, nothing beyond U+10FFFF (RFC 3629, section 3).
bool is_legal(std::uint32_t value, std::size_t length) {
  if (length == 3) return value >= 0x800 && (value < 0xd800 || value > 0xdfff);
  if (length == 4) return value >= 0x10000 && value <= 0x10ffff;
  return true;
}

}  // namespace

CodePoint decode_utf8(std::string_view text, std::size_t offset) {
  const auto lead = static_cast<unsigned char>(text[offset]);
  const std::size_t length = length_of_lead(lead);
  if (length == 1) return {lead, 1, true};
  if (length == 0 || offset + length > text.size()) return {lead, 1, false};
  std::uint32_t value = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[offset + i]);
    if ((next & 0xc0) != 0x80) return {lead, 1, false};
    value = (value << 6) | (next & 0x3fu);
  }
  if (!is_legal(value, length)) return {lead, 1, false};
  return {value, length, true};
}

int terminal_width(std::uint32_t code_point) {
  if (code_point < 0x300) return 1;
  if (contains(kCombining, code_point)) return 0;
  return contains(kWide, code_point) ? 2 : 1;
}

bool is_printable(std::uint32_t code_point) {
  if (code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0)) return false;
  const bool bidirectional = (code_point >= 0x202a && code_point <= 0x202e) ||
                             (code_point >= 0x2066 && code_point <= 0x2069);
  return !bidirectional && code_point != 0x2028 && code_point != 0x2029 && code_point != 0xfeff;
}

}  // namespace dlaunch::jobfile
