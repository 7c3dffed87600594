#include "text/strings.h"

#include "text/utf8.h"

namespace dlaunch {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t columns = utf8_length(text);
  if (columns < width) out.append(width - columns, ' ');
  return out;
}

}  // namespace dlaunch
