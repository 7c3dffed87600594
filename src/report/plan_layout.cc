#include "report/plan_layout.h"

#include <algorithm>

#include "text/plain_text.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

std::string shortened(std::string_view text, std::size_t width) {
  std::string line;
  for (const char c : text) line += c == '\n' ? std::string("\\n") : std::string(1, c);
  return cut_to_columns(plain_line(line), width);
}

void add_line(std::string& out, std::string_view label, std::size_t label_width,
              const std::string& value, std::string_view note) {
  std::string line = padded(label, label_width) + value;
  if (!note.empty()) {
    const std::size_t columns = utf8_length(line);
    const std::size_t at = std::max(columns + 2, kNoteAt);
    const std::size_t tight = std::min(at, kWidth > note.size() ? kWidth - note.size() : 0);
    if (tight >= columns + 2) {
      line = padded(line, tight);
    } else {
      out += line + "\n";
      line.assign(label_width, ' ');
    }
    line += note;
  }
  out += line + "\n";
}

void add_words(std::string& out, std::string_view label, const std::vector<std::string>& words) {
  if (words.empty()) return;
  std::string line = padded(label, kLabel);
  bool is_first = true;
  for (const std::string& word : words) {
    if (!is_first && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(kLabel, ' ');
      is_first = true;
    }
    line += (is_first ? "" : " ") + word;
    is_first = false;
  }
  out += line + "\n";
}

}  // namespace dlaunch
