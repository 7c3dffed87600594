#include "text/plain_text.h"

#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';

/// Length of the escape sequence at the start of `text`, which begins with ESC (ECMA-48 section
/// 5.4, and 5.6 for the control strings). An unfinished one extends to the end.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const char kind = text[1];
  std::size_t at = 2;
  if (kind == '[') {
    while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    return at < text.size() ? at + 1 : at;
  }
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') {
    for (; at < text.size(); ++at) {
      if (text[at] == kBell) return at + 1;
      if (text[at] == '\\' && text[at - 1] == kEscape) return at + 1;
    }
    return at;
  }
  at = 1;
  while (at < text.size() && text[at] >= ' ' && text[at] <= '/') ++at;
  return at < text.size() && text[at] >= '0' && text[at] <= '~' ? at + 1 : at;
}

void append_plain(std::string& out, std::string_view text, const CodePoint& point) {
  if (!point.valid) {
    out += kReplacement;
  } else if (point.value == '\t') {
    out += "    ";
  } else if (is_printable(point.value)) {
    out += text.substr(0, point.size);
  } else {
    out += '?';
  }
}

std::string_view last_state(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t cr = line.rfind('\r');
  return cr == std::string_view::npos ? line : line.substr(cr + 1);
}

}  // namespace

std::string plain_line(std::string_view line) {
  line = last_state(line);
  std::string out;
  out.reserve(line.size());
  while (!line.empty()) {
    std::size_t plain = 0;
    while (plain < line.size() && line[plain] >= ' ' && line[plain] <= '~') ++plain;
    out += line.substr(0, plain);
    line.remove_prefix(plain);
    if (line.empty()) break;
    if (line[0] == kEscape) {
      line.remove_prefix(escape_length(line));
      continue;
    }
    const CodePoint point = decode_utf8(line);
    append_plain(out, line, point);
    line.remove_prefix(point.size);
  }
  return out;
}

std::string plain_text(std::string_view text, std::size_t columns, std::size_t most) {
  std::string out;
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (lines++ < most) out += cut_to_columns(plain_line(line), columns) + '\n';
  }
  if (lines > most) out += "... " + std::to_string(lines - most) + " more lines\n";
  return out;
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  std::size_t kept = 0;  // where the "..." would go
  std::size_t at = 0;
  for (std::size_t column = 0; at < text.size(); ++column) {
    if (column == columns) return std::string(text.substr(0, kept)) + "...";
    at += decode_utf8(text.substr(at)).size;
    if (column + 3 < columns) kept = at;
  }
  return std::string(text);
}

}  // namespace dlaunch
