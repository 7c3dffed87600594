// LiveLines draws rows that still change, the progress bars of the ranks, below everything else on
// a terminal, and erases them. Pure: it makes text with control sequences (ECMA-48) and writes
// nothing. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// The caller owns the texts.
struct LiveRow {
  std::string_view prefix;
  std::size_t prefix_columns = 0;  // its width on the screen: it may have colours
  std::string_view text;
};

/// The drawn rows are the last thing on the screen, with the cursor at their end. Between erase()
/// and draw(), anything that ends with a newline may be written.
class LiveLines {
 public:
  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
    bool operator==(const Size&) const = default;
  };

  [[nodiscard]] bool drawn() const { return !widths_.empty(); }

  /// `now`: the current size; in a terminal that has become narrower, the drawn rows take more
  /// lines.
  void erase(Size now, std::string& out);

  /// Draws one line for each row, cut to the width; at most half of the terminal's lines. If there
  /// are more rows, the last line says how many are left out. Call only when nothing is drawn.
  void draw(const std::vector<LiveRow>& rows, Size size, std::string& out);

 private:
  void draw_row(const LiveRow& row, std::size_t columns, std::string& out);

  std::vector<std::size_t> widths_;  // columns of each drawn line
};

/// The part of `text` that fits into `columns`, without control characters; colour sequences (SGR)
/// are kept and take no room. Appends it to `out` and returns the columns it takes.
std::size_t append_fitting(std::string_view text, std::size_t columns, std::string& out);

}  // namespace dlaunch
