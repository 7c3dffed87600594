#include "jobfile/shell_quote.h"

#include <algorithm>
#include <utility>

#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

// '~' is not safe, because it is special at the beginning of a word.
bool is_safe(char c) {
  return is_letter_or_digit(c) || std::string_view("_-./:,@%+=").find(c) != std::string_view::npos;
}

/// "NAME=" and bash's "NAME+=" are assignments if the word is the first of a command.
bool could_assign(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  return name.size() < text.size() && std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter_or_digit(c) || c == '_' || c == '+';
         });
}

}  // namespace

std::string shell_quote(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_safe) && !could_assign(text))
    return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  return joined(words, " ", shell_quote);
}

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  bool is_quoted = false;
  bool is_inside = false;  // inside a word, which may be empty
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ' && !is_quoted) {
      is_inside = false;
      continue;
    }
    if (!std::exchange(is_inside, true)) words.emplace_back();
    if (c == '\'') {
      is_quoted = !is_quoted;
    } else if (c == '\\' && !is_quoted && i + 1 < line.size()) {
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace dlaunch::jobfile
