#include "text/table.h"

#include <algorithm>

#include "text/utf8.h"

namespace dlaunch {

std::string table_text(const std::vector<Cells>& rows, std::size_t indent, std::size_t right) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], utf8_length(row[c]));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(widths[c] - utf8_length(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (c < right ? gap + row[c] : row[c] + gap);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace dlaunch
