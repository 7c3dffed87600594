// A screen that is redrawn in place: what it shows, and the keys that scroll it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// Head lines, which stay at the top, and rows, which may be more than fit.
struct ScreenPage {
  std::vector<std::string> head;
  std::vector<std::string> rows;
};

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

enum class Key { quit, stacks, up, down, page_up, page_down, other };

/// Removes the first key from what was typed (ECMA-48, as xterm sends it); nullopt: incomplete.
[[nodiscard]] std::optional<Key> take_key(std::string& typed);

/// The number of rows that fit between head and foot.
[[nodiscard]] std::size_t rows_shown(const ScreenPage& page, ScreenSize size);
/// The first row to show after the key, within the page's bounds. After a change of the page or the
/// size, call it with Key::other.
[[nodiscard]] std::size_t moved(std::size_t first, Key key, const ScreenPage& page,
                                ScreenSize size);

/// The bytes that draw the page over what was there: the head, the rows from `first` on, and `foot`
/// as the last line, followed by the numbers of these rows if they are not all.
[[nodiscard]] std::string drawn(const ScreenPage& page, std::size_t first, const std::string& foot,
                                ScreenSize size);

/// To write before the first drawing; and after the last one, which puts the cursor below it.
inline constexpr const char* kBeginScreen = "\x1b[2J\x1b[?25l";
[[nodiscard]] std::string end_of_screen(ScreenSize size);

}  // namespace dlaunch
