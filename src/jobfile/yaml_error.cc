#include "jobfile/yaml_error.h"

#include <algorithm>
#include <array>

namespace dlaunch::jobfile {

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

// Skips "&anchor !!str" before a value, so that an error marks the value.
std::size_t skip_properties(std::string_view text, std::size_t offset) {
  std::size_t i = offset;
  while (i < text.size() && (text[i] == '&' || text[i] == '!')) {
    while (i < text.size() && !is_blank(text[i]) && !is_break(text[i]) && !is_flow(text[i])) ++i;
    i = skip_blanks_and_lines(text, i);
  }
  return i < text.size() ? i : offset;
}

// A line may have a hundred thousand tokens, so this does not search for the end of the line.
bool at_line_end(std::string_view text, std::size_t i) {
  if (i >= text.size() || text[i] == '\n') return true;
  return text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
}

enum class Until { line_end, text_end };

// The offset after the closing quote; npos: there is none.
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
// plain text, but a shorter mark does no harm.
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
    // Mark the last visible character rather than an empty last line.
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

namespace {

struct Wording {
  std::string_view begins;  // start of yaml-cpp's message (its exceptions.h)
  std::string_view plain;
};

constexpr std::array<Wording, 18> kWordings{{
    {"end of map flow not found", "a '{' is not closed with '}', or a comma is missing"},
    {"end of map not found", "expected \"key: value\" here; check the indentation"},
    {"end of sequence flow not found", "a '[' is not closed with ']', or a comma is missing"},
    {"end of sequence not found", "expected \"- item\" here; check the indentation"},
    {"illegal flow end", "this bracket has no opening bracket"},
    {"illegal block entry", "a list item (-) cannot start here"},
    {"illegal map key", "a key cannot start here"},
    {"illegal map value", "a ':' is not allowed here; put text that contains \": \" in quotes"},
    {"illegal tab when looking", "indent with spaces, not with tabs"},
    {"illegal EOF in scalar", "the closing quote is missing"},
    {"illegal document indicator", "the closing quote is missing"},
    {"illegal character in scalar",
     "this text cannot be continued here; check quotes and indentation"},
    {"unknown escape character",
     "\"\\\" starts an escape in double quotes; use single quotes to take text as it is"},
    {"unknown token", "this character cannot start a value; put the text in quotes"},
    {"the referenced anchor is not defined",
     "this alias (*) names an anchor (&) that is not defined above"},
    {"alias not found after *", "a '*' starts an alias; put the text in quotes"},
    {"anchor not found after &", "a '&' starts an anchor; put the text in quotes"},
    {"bad file", "nested too deep"},
}};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
constexpr std::string_view kOfKey =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-/";

/// A line without its line feed; `begin` is its offset in the text.
struct Line {
  std::size_t begin = 0;
  std::string_view text;
};

Line line_at(std::string_view text, std::size_t offset) {
  const auto before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  std::string_view line = text.substr(begin, end - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {begin, line};
}

/// The last line before `line` that is not blank and not only a comment.
std::optional<Line> line_above(std::string_view text, Line line) {
  while (line.begin > 0) {
    line = line_at(text, line.begin - 1);
    const auto first = line.text.find_first_not_of(" \t");
    if (first != std::string_view::npos && line.text[first] != '#') return line;
  }
  return std::nullopt;
}

/// Finds "nodes:2". In "http://x" and "a:/b" the colon belongs to the text.
std::optional<ColonMistake> colon_without_space(const Line& line, std::size_t key,
                                                std::size_t end) {
  if (end + 1 >= line.text.size() || line.text[end] != ':') return std::nullopt;
  if (std::string_view(" \t/:\\").find(line.text[end + 1]) != std::string_view::npos)
    return std::nullopt;
  const std::string name(line.text.substr(key, end - key));
  const auto stop = std::min(line.text.find_first_of(" \t,}", end), line.text.size());
  const std::string value(line.text.substr(end + 1, stop - end - 1));
  return ColonMistake{line.begin + end, 1,
                      "a space is missing after this colon: " + name + ": " + value};
}

/// Finds "resources" above deeper keys, or "framework pytorch" at the left edge, where no text can
/// continue.
std::optional<ColonMistake> missing_colon(const Line& line, std::size_t key, std::size_t end) {
  const std::string_view rest = line.text.substr(end);
  const auto next = rest.find_first_not_of(" \t");
  const bool is_alone = next == std::string_view::npos || rest[next] == '#';
  const bool has_value = key == 0 && next != std::string_view::npos && next > 0 &&
                         rest.find(':') == std::string_view::npos;
  if (!is_alone && !has_value) return std::nullopt;
  const std::string name(line.text.substr(key, end - key));
  return ColonMistake{line.begin + key, end - key,
                      "a colon is missing after this key: " + name + ':'};
}

}  // namespace

std::optional<ColonMistake> colon_mistake_in_key(std::string_view key, std::size_t offset) {
  if (key.empty() || kLetters.find(key.front()) == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(key.find_first_not_of(kOfKey), key.size());
  return colon_without_space({offset, key}, 0, end);
}

std::optional<ColonMistake> colon_mistake(std::string_view text, std::size_t offset) {
  const Line here = line_at(text, std::min(offset, text.size()));
  const auto above = line_above(text, here);
  for (const bool is_here : {true, false}) {
    if (!is_here && !above) break;
    const Line& line = is_here ? here : *above;
    std::size_t key = std::min(line.text.find_first_not_of(" \t"), line.text.size());
    while (line.text.substr(key, 2) == "- ")
      key = std::min(line.text.find_first_not_of(' ', key + 1), line.text.size());
    if (key == line.text.size() || kLetters.find(line.text[key]) == std::string_view::npos)
      continue;
    const std::size_t end = std::min(line.text.find_first_not_of(kOfKey, key), line.text.size());
    if (auto mistake = colon_without_space(line, key, end)) return mistake;
    if (auto mistake = missing_colon(line, key, end)) return mistake;
  }
  return std::nullopt;
}

std::string plain_yaml_message(std::string_view message) {
  for (const Wording& wording : kWordings) {
    if (message.substr(0, wording.begins.size()) == wording.begins)
      return std::string(wording.plain);
  }
  return std::string(message);
}

}  // namespace dlaunch::jobfile
