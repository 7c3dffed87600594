#include "text/strings.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "text/utf8.h"

namespace dlaunch {

namespace {

constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find_first_of(kBlank)));
    text.remove_prefix(words.back().size());
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string decimals(double value, int places) {
  std::array<char, 384> text{};  // 1e308 has 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

std::string three_digits(double value) {
  return decimals(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t columns = utf8_length(text);
  if (columns < width) out.append(width - columns, ' ');
  return out;
}

std::string right_aligned(std::string_view text, std::size_t width) {
  const std::size_t columns = utf8_length(text);
  return std::string(columns < width ? width - columns : 0, ' ').append(text);
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_in_folder(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace dlaunch
