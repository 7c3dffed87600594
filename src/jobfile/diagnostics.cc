#include "jobfile/diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "text/strings.h"
#include "text/utf8.h"

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
    const CodePoint c = decode_utf8(text.substr(i));
    Glyph glyph;
    glyph.marked = i >= mark && i < mark + length;
    if (c.value == '\t') {
      glyph.width = kTab - column % kTab;
      glyph.text.assign(static_cast<std::size_t>(glyph.width), ' ');
    } else if (!c.valid || !is_printable(c.value)) {
      glyph.text = "?";
    } else {
      glyph.text = text.substr(i, c.size);
      glyph.width = terminal_width(c.value);
    }
    column += glyph.width;
    glyphs.push_back(std::move(glyph));
    i += c.size;
  }
  return glyphs;
}

// A line may be as long as a file, so look only at what can appear near the caret.
Line clipped(std::string_view text, Line line, std::size_t mark) {
  constexpr std::size_t kNear = 1024;  // bytes, more than a screen line holds
  const auto is_inside_character = [text](std::size_t i) {
    return i < text.size() && is_utf8_continuation(text[i]);
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

/// The length of the part of `path` that the pattern matches; npos: no match.
std::size_t fit(std::string_view pattern, std::string_view path) {
  std::size_t at = 0;
  for (const char c : pattern) {
    if (c == '*') {
      const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
      if (end == at) return std::string_view::npos;
      at = end;
    } else if (at < path.size() && path[at] == c) {
      ++at;
    } else {
      return std::string_view::npos;
    }
  }
  const bool ends_there = at == path.size() || path[at] == '.' || path[at] == '[';
  return ends_there ? at : std::string_view::npos;
}

constexpr std::size_t kMaxShown = 20;
constexpr int kMaxQuoted = 60;
constexpr std::size_t kMaxLine = 500;

std::string escape(std::uint32_t value) {
  if (value == '\n') return "\\n";
  if (value == '\t') return "\\t";
  if (value == '\r') return "\\r";
  char text[16];
  std::snprintf(text, sizeof text, value < 0x100 ? "\\x%02x" : "\\u%04x", value);
  return text;
}

}  // namespace

std::string excerpt(std::string_view text, SourceRange range) {
  const std::size_t offset = std::min<std::size_t>(range.offset, text.size());
  const Line line = clipped(text, line_around(text, offset), offset);
  const std::size_t length = std::max<std::size_t>(range.length, 1);
  const std::vector<Glyph> glyphs = glyphs_of(text, line, offset, length);
  std::size_t mark = 0;
  while (mark < glyphs.size() && !glyphs[mark].marked) ++mark;
  const Window window = window_of(glyphs, mark);

  const std::string number = right_aligned(std::to_string(locate(text, range.offset).line), 5);
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

std::string foreign_key(std::span<const KeyName> names, std::string_view path) {
  for (const KeyName& name : names) {
    const std::size_t taken = fit(name.native, path);
    if (taken == std::string_view::npos) continue;
    std::string_view rest = path.substr(taken);
    if (rest.starts_with('[')) rest.remove_prefix(std::min(rest.find(']'), rest.size() - 1) + 1);
    return std::string(name.foreign) + std::string(rest);
  }
  return std::string(path);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  int shown = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (++shown > kMaxQuoted) {
      out += "...";
      break;
    }
    const CodePoint c = decode_utf8(text.substr(i));
    const std::string_view bytes = text.substr(i, c.size);
    if (!c.valid) {
      for (const char byte : bytes) out += escape(static_cast<unsigned char>(byte));
    } else if (is_printable(c.value)) {
      out += bytes;
    } else {
      out += escape(c.value);
    }
    i += c.size;
  }
  return out + "\"";
}

std::string presentable(std::string_view message) {
  std::string out;
  std::size_t line = 0;  // bytes of the line so far
  for (std::size_t i = 0; i < message.size();) {
    const CodePoint c = decode_utf8(message.substr(i));
    const std::string_view bytes = message.substr(i, c.size);
    i += c.size;
    if (bytes == "\n") {
      line = 0;
      out += '\n';
      continue;
    }
    if (line == kMaxLine) out += "...";
    if (line < kMaxLine) out += c.valid && is_printable(c.value) ? bytes : std::string_view("?");
    line = line < kMaxLine ? std::min(line + bytes.size(), kMaxLine) : kMaxLine + 1;
  }
  return out;
}

void Diagnostics::error(SourceRange range, const std::string& message) {
  if (is_full()) {
    ++dropped_;
    return;
  }
  entries_.push_back({range, presentable(message)});
}

std::string Diagnostics::refer_to(SourceRange range) const {
  const Source& source = (*sources_)[range.source];
  if (source.is_argument) return presentable(source.name);
  const std::string line = "line " + std::to_string(line_of(source.text, range.offset));
  return range.source == 0 ? line : presentable(source.name) + ", " + line;
}

std::string Diagnostics::key_at(std::string_view path, SourceRange range) const {
  return (*sources_)[range.source].is_argument ? std::string(path) : foreign_key(key_names_, path);
}

std::string Diagnostics::render(const Entry& entry) const {
  const Source& source = (*sources_)[entry.range.source];
  std::string out = presentable(source.name);
  const bool has_line = !source.is_argument && !entry.range.is_whole();
  if (has_line) {
    const Location at = locate(source.text, entry.range.offset);
    out += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }
  out += (out.empty() ? "error: " : ": error: ") + entry.message;
  if (has_line) out += "\n" + excerpt(source.text, entry.range);
  return out;
}

Error Diagnostics::to_error() const {
  // A node is read once more for each alias, so the same error may occur several times.
  std::vector<Entry> sorted = entries_;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());

  std::string message;
  for (std::size_t i = 0; i < sorted.size() && i < kMaxShown; ++i) {
    if (i != 0) message += "\n\n";
    message += render(sorted[i]);
  }
  if (sorted.size() > kMaxShown) {
    const std::size_t more = sorted.size() - kMaxShown + dropped_;
    message += "\n\n" + counted(more, "more error");
  }
  return Error{exit_code::kJobFile, std::move(message)};
}

}  // namespace dlaunch::jobfile
