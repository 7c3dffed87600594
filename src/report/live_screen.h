// A screen that is redrawn in place: its content, and the keys that scroll it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// Head lines, which stay at the top, and rows, of which there may be more than fit.
struct ScreenPage {
  std::vector<std::string> head;
  std::vector<std::string> rows;
};

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

enum class Key { quit, stacks, up, down, page_up, page_down, other };

/// Removes the first key from `typed` (ECMA-48, as xterm sends it); nullopt: it is incomplete.
[[nodiscard]] std::optional<Key> take_key(std::string& typed);

/// The number of rows that fit between head and foot.
[[nodiscard]] std::size_t rows_shown(const ScreenPage& page, ScreenSize size);
/// The first row to show after the key, within the page's bounds. After a change of the page or the
/// size, call it with Key::other.
[[nodiscard]] std::size_t moved(std::size_t first, Key key, const ScreenPage& page,
                                ScreenSize size);

/// The bytes that draw the page over the previous one: the head, the rows from `first` on, and
/// `foot` as the last line. If not all rows fit, the foot ends with the numbers of those that are
/// shown.
[[nodiscard]] std::string drawn(const ScreenPage& page, std::size_t first, const std::string& foot,
                                ScreenSize size);

/// Write kBeginScreen before the first drawing, and end_of_screen() after the last one: it puts the
/// cursor below the drawing.
inline constexpr const char* kBeginScreen = "\x1b[2J\x1b[?25l";
[[nodiscard]] std::string end_of_screen(ScreenSize size);

}  // namespace dlaunch
