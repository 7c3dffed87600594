#include "launch/console/live_lines.h"

#include <algorithm>

#include "text/utf8.h"

namespace dlaunch {

namespace {

// East Asian Width W and F, and emoji (Unicode Standard Annex 11), as far as progress bars use
// them.
bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

bool is_combining(char32_t c) {
  return (c >= 0x0300 && c <= 0x036F) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0x20D0 && c <= 0x20FF);
}

/// Length of the control sequence that `text` begins with; 0: none, or not a complete one.
std::size_t control_sequence(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t final = text.find_first_not_of("0123456789;:<=>? !\"#$%&'()*+,-./", 2);
  return final == std::string_view::npos ? 0 : final + 1;
}

std::string summary(std::size_t count) {
  return "... and " + std::to_string(count) + " more";
}

}  // namespace

std::size_t append_fitting(std::string_view text, std::size_t columns, std::string& out) {
  std::size_t used = 0;
  bool coloured = false;
  while (!text.empty()) {
    if (const std::size_t size = control_sequence(text); size > 0) {
      if (text[size - 1] == 'm') {
        out.append(text.substr(0, size));
        coloured = true;
      }
      text.remove_prefix(size);
      continue;
    }
    const CodePoint next = decode_utf8(text);
    const bool is_control = next.value < 0x20 || (next.value >= 0x7F && next.value < 0xA0);
    const std::size_t width = is_control || is_combining(next.value) ? 0
                              : is_wide(next.value)                  ? 2
                                                                     : 1;
    if (used + width > columns) break;
    if (!is_control) out.append(next.valid ? text.substr(0, next.size) : kReplacement);
    used += width;
    text.remove_prefix(next.size);
  }
  if (coloured) out.append("\x1b[0m");
  return used;
}

void LiveLines::erase(Size now, std::string& out) {
  if (widths_.empty()) return;
  // A terminal that has become narrower has wrapped the drawn lines.
  std::size_t up = widths_.size() - 1;
  for (const std::size_t width : widths_)
    up += (std::max<std::size_t>(width, 1) - 1) / std::max<std::size_t>(now.columns, 1);
  out.append("\r");
  if (up > 0) out.append("\x1b[" + std::to_string(up) + "A");
  out.append("\x1b[J");
  widths_.clear();
}

void LiveLines::draw_row(const LiveRow& row, std::size_t columns, std::string& out) {
  if (!widths_.empty()) out.append("\r\n");
  if (row.prefix_columns >= columns) {  // a very narrow terminal
    widths_.push_back(append_fitting(row.prefix, columns, out));
    return;
  }
  out.append(row.prefix);
  widths_.push_back(row.prefix_columns +
                    append_fitting(row.text, columns - row.prefix_columns, out));
}

void LiveLines::draw(const std::vector<LiveRow>& rows, Size size, std::string& out) {
  const std::size_t room = std::max<std::size_t>(size.rows / 2, 1);
  // The last column stays free: writing it may move a terminal to the next line.
  const std::size_t columns = std::max<std::size_t>(size.columns, 2) - 1;
  const std::size_t shown = rows.size() <= room ? rows.size() : room - 1;
  for (std::size_t i = 0; i < shown; ++i) draw_row(rows[i], columns, out);
  if (shown == rows.size()) return;
  const std::string rest = summary(rows.size() - shown);
  draw_row({{}, 0, rest}, columns, out);
}

}  // namespace dlaunch
