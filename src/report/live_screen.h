// A screen that is drawn again in place: what it shows, and the keys that move it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// Lines above, which stay, and rows that may be more than fit.
struct ScreenPage {
  std::vector<std::string> head;
  std::vector<std::string> rows;
};

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

enum class Key { quit, stacks, up, down, page_up, page_down, other };

/// Takes the first key off what was typed (ECMA-48, as xterm sends it); nullopt: it is incomplete.
[[nodiscard]] std::optional<Key> take_key(std::string& typed);

/// Rows that fit beside head and foot.
[[nodiscard]] std::size_t rows_shown(const ScreenPage& page, ScreenSize size);
/// Where the page begins after the key, within its bounds. Also for a page or a size that has
/// changed, with Key::other.
[[nodiscard]] std::size_t moved(std::size_t first, Key key, const ScreenPage& page,
                                ScreenSize size);

/// The bytes that draw it over what was there: the head, the rows from `first` on, and `foot` as
/// the last line, followed by which rows these are if they are not all.
[[nodiscard]] std::string drawn(const ScreenPage& page, std::size_t first, const std::string& foot,
                                ScreenSize size);

/// Before the first drawing, and after the last one: the cursor below it.
inline constexpr const char* kBeginScreen = "\x1b[2J\x1b[?25l";
[[nodiscard]] std::string end_of_screen(ScreenSize size);

}  // namespace dlaunch
