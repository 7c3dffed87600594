#include "launch/console/line_splitter.h"

#include "text/utf8.h"

namespace dlaunch {

std::size_t LineSplitter::cut(std::string_view text) const {
  const std::size_t at = utf8_cut(text, max_line_);
  return at == 0 ? max_line_ : at;
}

std::size_t LineSplitter::drop_held() {
  const std::size_t size = held_.size();
  forget_held();
  return size;
}

void LineSplitter::look_for_text(std::string_view line) {
  if (line.empty()) return;
  text_lines_wanted_ = BarRows::is_text(line) ? text_lines_wanted_ - 1 : kTextLines;
}

void LineSplitter::forget_held() {
  // One long line must not occupy its memory for the rest of the run; short ones need not allocate
  // again.
  constexpr std::size_t kKept = 1024;
  if (held_.capacity() > kKept) {
    held_ = std::string();
  } else {
    held_.clear();
  }
}

}  // namespace dlaunch
