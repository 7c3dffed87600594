#include "text/utf8.h"

#include <array>

namespace dlaunch {

namespace {

// The length and the range of the second byte that a lead byte allows (Unicode table 3-7).
struct Lead {
  std::uint8_t size = 0;  // 0: not a lead byte
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead read_lead(unsigned char c) {
  if (c >= 0xC2 && c <= 0xDF) return {2};
  if (c == 0xE0) return {3, 0xA0, 0xBF};
  if (c == 0xED) return {3, 0x80, 0x9F};
  if (c >= 0xE1 && c <= 0xEF) return {3};
  if (c == 0xF0) return {4, 0x90, 0xBF};
  if (c >= 0xF1 && c <= 0xF3) return {4};
  if (c == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

struct Range {
  char32_t first;
  char32_t last;
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
bool contains(const std::array<Range, N>& ranges, char32_t value) {
  for (const Range& range : ranges) {
    if (value >= range.first && value <= range.last) return true;
  }
  return false;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
  constexpr char32_t kInvalid = 0xFFFD;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = read_lead(first);
  if (lead.size == 0) return {kInvalid, 1, false};
  char32_t value = first & (0xFFU >> (lead.size + 1U));
  for (std::uint8_t i = 1; i < lead.size; ++i) {
    if (i >= text.size()) return {kInvalid, i, false};
    const auto c = static_cast<unsigned char>(text[i]);
    const bool fits = i == 1 ? c >= lead.low && c <= lead.high : is_utf8_continuation(text[i]);
    if (!fits) return {kInvalid, i, false};
    value = (value << 6U) | (c & 0x3FU);
  }
  return {value, lead.size, true};
}

std::size_t utf8_cut(std::string_view text, std::size_t wanted) {
  std::size_t cut = wanted;
  for (int back = 0; back < 4 && cut > 0; ++back, --cut) {
    if (!is_utf8_continuation(text[cut])) return cut;
  }
  return wanted;
}

std::size_t utf8_length(std::string_view text) {
  std::size_t length = 0;
  for (; !text.empty(); ++length) text.remove_prefix(decode_utf8(text).size);
  return length;
}

int terminal_width(char32_t code_point) {
  if (code_point < 0x300) return 1;
  if (contains(kCombining, code_point)) return 0;
  return contains(kWide, code_point) ? 2 : 1;
}

bool is_printable(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFEFF) return false;
  return !((c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x2069));
}

}  // namespace dlaunch
