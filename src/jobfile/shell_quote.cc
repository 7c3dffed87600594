#include "jobfile/shell_quote.h"

namespace dlaunch::jobfile {

namespace {

// A leading '~' and a '=' in the first word are special, so both are quoted.
bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,@%+").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quote(std::string_view text) {
  bool safe = !text.empty();
  for (const char c : text) safe = safe && is_safe(c);
  if (safe) return std::string(text);
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
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

}  // namespace dlaunch::jobfile
