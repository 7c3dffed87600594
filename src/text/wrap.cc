#include "text/wrap.h"

#include <algorithm>

namespace dlaunch {

void append_wrapped(std::string& out, std::string_view first, std::string_view rest,
                    std::string_view text, std::size_t columns) {
  std::string line(first);
  bool has_word = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (has_word && line.size() + 1 + end > columns) {
      out.append(line).append("\n");
      line = rest;
      has_word = false;
    }
    if (has_word) line += ' ';
    line.append(text.substr(0, end));
    has_word = true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out.append(line).append("\n");
}

std::string wrapped_statement(std::string_view text, std::size_t columns) {
  std::string out;
  append_wrapped(out, "dlaunch: ", "         ", text, columns);
  out.pop_back();
  return out;
}

}  // namespace dlaunch
