#include "spec/dialects/shell_words.h"

#include <algorithm>

#include "spec/shell_quote.h"

namespace dlaunch::spec {

namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_of_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9');
}

/// Length of "$NAME" or "${NAME}" at `at`; 0: it is none.
std::size_t variable_at(std::string_view text, std::size_t at) {
  if (text[at] != '$') return 0;
  const bool braces = at + 1 < text.size() && text[at + 1] == '{';
  std::size_t end = at + 1 + (braces ? 1U : 0U);
  if (end >= text.size() || !begins_name(text[end])) return 0;
  while (end < text.size() && is_of_name(text[end])) ++end;
  if (!braces) return end - at;
  return end < text.size() && text[end] == '}' ? end + 1 - at : 0;
}

}  // namespace

void append_in_double_quotes(std::string& word, std::string_view text) {
  for (const char c : text) {
    // XCU 2.2.3: what keeps its meaning in double quotes.
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) word += '\\';
    word += c;
  }
}

std::string quote_but_variables(std::string_view text) {
  std::string out;
  bool has_variable = false;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = variable_at(text, i); length > 0) {
      has_variable = true;
      out += text.substr(i, length);
      i += length;
      continue;
    }
    append_in_double_quotes(out, text.substr(i++, 1));
  }
  return has_variable ? '"' + out + '"' : shell_quote(text);
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

std::optional<std::vector<std::string>> simple_words(std::string_view line) {
  constexpr std::string_view kMeaning = ";&|()<>$`*?[#~=\n";
  std::vector<std::string> words;
  std::optional<std::string> word;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ' || c == '\t') {
      if (word) words.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (c == '\'') {
      const auto end = line.find('\'', i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      *word += line.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '$' || line[i] == '`') return std::nullopt;
        // XCU 2.2.3: a backslash stays but before these.
        const bool escapes = line[i] == '\\' && i + 1 < line.size() &&
                             std::string_view("$`\"\\\n").find(line[i + 1]) != line.npos;
        if (escapes && line[++i] == '\n') continue;
        *word += line[i];
      }
      if (i >= line.size()) return std::nullopt;
    } else if (c == '\\') {
      if (++i >= line.size()) return std::nullopt;
      if (line[i] == '\n') {
        if (word->empty()) word.reset();
      } else {
        *word += line[i];
      }
    } else if (kMeaning.find(c) != std::string_view::npos) {
      // "NAME=value" in front of a program is an assignment; among its arguments it is none.
      const bool is_argument = c == '=' && !words.empty();
      if (!is_argument) return std::nullopt;
      *word += c;
    } else {
      *word += c;
    }
  }
  if (word) words.push_back(std::move(*word));
  return words;
}

}  // namespace dlaunch::spec
