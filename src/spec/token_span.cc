#include "spec/token_span.h"

#include <algorithm>

namespace dlaunch::spec {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_break(char c) {
  return c == '\n' || c == '\r';
}
bool is_quote(char c) {
  return c == '"' || c == '\'';
}
bool is_flow(char c) {
  return c == ',' || c == '[' || c == ']' || c == '{' || c == '}';
}

std::size_t skip_blanks_and_lines(std::string_view text, std::size_t i) {
  while (i < text.size() && (is_blank(text[i]) || is_break(text[i]))) ++i;
  return i;
}

// "&anchor !!str value": the value is what a person looks for.
std::size_t skip_properties(std::string_view text, std::size_t offset) {
  std::size_t i = offset;
  while (i < text.size() && (text[i] == '&' || text[i] == '!')) {
    while (i < text.size() && !is_blank(text[i]) && !is_break(text[i]) && !is_flow(text[i])) ++i;
    i = skip_blanks_and_lines(text, i);
  }
  return i < text.size() ? i : offset;
}

// A line may hold a hundred thousand tokens: nothing here looks for its end first.
bool at_line_end(std::string_view text, std::size_t i) {
  if (i >= text.size() || text[i] == '\n') return true;
  return text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
}

enum class Until { line_end, text_end };

// Offset behind the closing quote; npos: there is none.
std::size_t end_of_quoted(std::string_view text, std::size_t start, Until until) {
  const char quote = text[start];
  for (std::size_t i = start + 1; i < text.size(); ++i) {
    if (until == Until::line_end && at_line_end(text, i)) break;
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool is_escaped = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!is_escaped) return i + 1;
      ++i;
    }
  }
  return std::string_view::npos;
}

// Ends before ": ", " #", and flow indicators. Outside of flow collections ",[]{}" may be part of a
// plain text, but then a shorter mark does no harm.
std::size_t end_of_plain(std::string_view text, std::size_t start) {
  std::size_t i = start;
  for (; !at_line_end(text, i); ++i) {
    const bool ends_word = at_line_end(text, i + 1) || is_blank(text[i + 1]);
    if (text[i] == ':' && ends_word) break;
    if (text[i] == '#' && i > start && is_blank(text[i - 1])) break;
    if (is_flow(text[i])) break;
  }
  while (i > start && is_blank(text[i - 1])) --i;
  return i;
}

}  // namespace

TokenSpan token_span(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) {
    // Point behind the last visible character rather than at an empty last line.
    std::size_t end = text.size();
    while (end > 0 && (is_blank(text[end - 1]) || is_break(text[end - 1]))) --end;
    return {end, 0};
  }
  const std::size_t start = skip_properties(text, offset);
  if (at_line_end(text, start)) return {start, 0};
  const char c = text[start];
  if (is_flow(c) || c == '|' || c == '>') return {start, 1};
  std::size_t end =
      is_quote(c) ? end_of_quoted(text, start, Until::line_end) : end_of_plain(text, start);
  if (end == std::string_view::npos) {
    for (end = start; !at_line_end(text, end);) ++end;
  }
  return {start, std::max<std::size_t>(end - start, 1)};
}

bool is_unclosed_quote(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return false;
  const std::size_t start = skip_properties(text, offset);
  return is_quote(text[start]) &&
         end_of_quoted(text, start, Until::text_end) == std::string_view::npos;
}

}  // namespace dlaunch::spec
