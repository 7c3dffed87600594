#include "jobfile/excerpt.h"

#include <algorithm>
#include <vector>

#include "jobfile/utf8.h"

namespace dlaunch::jobfile {

namespace {

constexpr int kTextColumns = 72;  // 80 minus the gutter "    7 | "
constexpr int kTab = 8;
constexpr std::string_view kCut = "...";

/// One character as the terminal shows it.
struct Glyph {
  std::string text;
  int width = 1;
  bool marked = false;
};

struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Line line_around(std::string_view text, std::size_t offset) {
  Line line;
  if (offset > 0) {
    const auto before = text.rfind('\n', offset - 1);
    line.begin = before == std::string_view::npos ? 0 : before + 1;
  }
  line.end = std::min(text.find('\n', offset), text.size());
  if (line.end > line.begin && text[line.end - 1] == '\r') --line.end;
  return line;
}

std::vector<Glyph> glyphs_of(std::string_view text, Line line, std::size_t mark,
                             std::size_t length) {
  std::vector<Glyph> glyphs;
  int column = 0;
  for (std::size_t i = line.begin; i < line.end;) {
    const CodePoint c = decode_utf8(text, i);
    Glyph glyph;
    glyph.marked = i >= mark && i < mark + length;
    if (c.value == '\t') {
      glyph.width = kTab - column % kTab;
      glyph.text.assign(static_cast<std::size_t>(glyph.width), ' ');
    } else if (!c.valid || !is_printable(c.value)) {
      glyph.text = "?";
    } else {
      glyph.text = text.substr(i, c.length);
      glyph.width = terminal_width(c.value);
    }
    column += glyph.width;
    glyphs.push_back(std::move(glyph));
    i += c.length;
  }
  return glyphs;
}

// A line may be as long as a file: look only at what can appear near the caret.
Line clipped(std::string_view text, Line line, std::size_t mark) {
  constexpr std::size_t kNear = 1024;  // bytes, more than a screen line holds
  const auto is_inside_character = [text](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  if (mark > line.begin + kNear) {
    line.begin = mark - kNear;
    while (line.begin < mark && is_inside_character(line.begin)) ++line.begin;
  }
  if (line.end > mark + kNear) {
    line.end = mark + kNear;
    while (line.end > mark && is_inside_character(line.end)) --line.end;
  }
  return line;
}

/// Range of glyphs to show: all if they fit, otherwise a window that has the start of the mark in
/// its first third.
struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Window window_of(const std::vector<Glyph>& glyphs, std::size_t mark) {
  int total = 0;
  for (const Glyph& glyph : glyphs) total += glyph.width;
  if (total <= kTextColumns) return {0, glyphs.size()};
  Window window{mark, mark};
  int room = kTextColumns / 3;
  while (window.begin > 0 && room >= glyphs[window.begin - 1].width) {
    room -= glyphs[--window.begin].width;
  }
  room += kTextColumns - kTextColumns / 3 - 2 * static_cast<int>(kCut.size());
  while (window.end < glyphs.size() && room >= glyphs[window.end].width) {
    room -= glyphs[window.end++].width;
  }
  while (window.begin > 0 && room >= glyphs[window.begin - 1].width) {
    room -= glyphs[--window.begin].width;
  }
  return window;
}

std::string right_aligned(const std::string& number) {
  return (number.size() < 5 ? std::string(5 - number.size(), ' ') : "") + number;
}

}  // namespace

std::string excerpt(std::string_view text, Place place) {
  const std::size_t offset = std::min<std::size_t>(place.offset, text.size());
  const Line line = clipped(text, line_around(text, offset), offset);
  const std::size_t length = std::max<std::size_t>(place.length, 1);
  const std::vector<Glyph> glyphs = glyphs_of(text, line, offset, length);
  std::size_t mark = 0;
  while (mark < glyphs.size() && !glyphs[mark].marked) ++mark;
  const Window window = window_of(glyphs, mark);

  const std::string number = right_aligned(std::to_string(locate(text, place.offset).line));
  std::string shown = number + " | ";
  std::string below = std::string(number.size(), ' ') + " | ";
  if (window.begin > 0) {
    shown += kCut;
    below.append(kCut.size(), ' ');
  }
  bool first = true;
  for (std::size_t i = window.begin; i < window.end; ++i) {
    shown += glyphs[i].text;
    if (i < mark) below.append(static_cast<std::size_t>(glyphs[i].width), ' ');
    if (!glyphs[i].marked) continue;
    std::string tildes(static_cast<std::size_t>(glyphs[i].width), '~');
    if (first && !tildes.empty()) tildes[0] = '^';
    first = false;
    below += tildes;
  }
  if (window.end < glyphs.size()) shown += kCut;
  if (first) below += "^";
  return shown + "\n" + below;
}

}  // namespace dlaunch::jobfile
