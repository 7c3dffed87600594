#include "report/live_screen.h"

#include <algorithm>

#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kLeastColumns = 8;

/// False if the head would leave less than half of the screen for rows: it then scrolls with them.
bool head_stays(const ScreenPage& page, ScreenSize size) {
  return page.head.size() + 1 <= size.rows / 2;
}

std::vector<std::string> scrolled(const ScreenPage& page, ScreenSize size) {
  if (head_stays(page, size)) return page.rows;
  std::vector<std::string> all = page.head;
  all.insert(all.end(), page.rows.begin(), page.rows.end());
  return all;
}

std::size_t count_scrolled(const ScreenPage& page, ScreenSize size) {
  return page.rows.size() + (head_stays(page, size) ? 0 : page.head.size());
}

std::string line_of(const std::string& line, ScreenSize size) {
  return cut_to_columns(line, std::max(size.columns, kLeastColumns)) + "\x1b[K";
}

}  // namespace

std::optional<Key> take_key(std::string& typed) {
  if (typed.empty()) return std::nullopt;
  const char first = typed.front();
  if (first != kEscape) {
    typed.erase(0, 1);
    if (first == 'q' || first == 'Q') return Key::quit;
    if (first == 's' || first == 'S') return Key::stacks;
    if (first == 'k') return Key::up;
    if (first == 'j') return Key::down;
    return first == ' ' ? Key::page_down : Key::other;
  }
  // The forms are: ESC [ parameters final, and ESC O final.
  if (typed.size() == 1) return std::nullopt;
  if (typed[1] != '[' && typed[1] != 'O') {
    typed.erase(0, 1);
    return Key::other;
  }
  const auto end =
      std::find_if(typed.begin() + 2, typed.end(), [](char c) { return c >= '@' && c <= '~'; });
  if (end == typed.end()) return std::nullopt;
  const std::string sequence(typed.begin() + 2, end + 1);
  typed.erase(typed.begin(), end + 1);
  if (sequence == "A") return Key::up;
  if (sequence == "B") return Key::down;
  if (sequence == "5~") return Key::page_up;
  if (sequence == "6~") return Key::page_down;
  return Key::other;
}

std::size_t rows_shown(const ScreenPage& page, ScreenSize size) {
  const std::size_t taken = 1 + (head_stays(page, size) ? page.head.size() : 0);
  return size.rows > taken ? size.rows - taken : 1;
}

std::size_t moved(std::size_t first, Key key, const ScreenPage& page, ScreenSize size) {
  const std::size_t shown = rows_shown(page, size);
  const std::size_t count = count_scrolled(page, size);
  const std::size_t last = count > shown ? count - shown : 0;
  const auto back = [&](std::size_t by) { return first - std::min(first, by); };
  if (key == Key::up) first = back(1);
  if (key == Key::page_up) first = back(shown);
  if (key == Key::down) ++first;
  if (key == Key::page_down) first += shown;
  return std::min(first, last);
}

std::string drawn(const ScreenPage& page, std::size_t first, const std::string& foot,
                  ScreenSize size) {
  const std::vector<std::string> rows = scrolled(page, size);
  const std::size_t shown = rows_shown(page, size);
  const std::size_t end = std::min(rows.size(), first + shown);
  // Turns off wrapping, because a wide character may need two columns.
  std::string out = "\x1b[?7l\x1b[H";
  if (head_stays(page, size)) {
    for (const std::string& line : page.head) out += line_of(line, size) + "\r\n";
  }
  for (std::size_t row = first; row < end; ++row) out += line_of(rows[row], size) + "\r\n";
  out += "\x1b[J\x1b[" + std::to_string(size.rows) + ";1H";
  std::string last = foot;
  if (end - std::min(first, end) < rows.size()) {
    last += "   " + std::to_string(first + 1) + '-' + std::to_string(end) + " of " +
            std::to_string(rows.size());
  }
  return out + line_of(last, size) + "\x1b[?7h";
}

std::string end_of_screen(ScreenSize size) {
  return "\x1b[" + std::to_string(size.rows) + ";1H\r\n\x1b[?25h";
}

}  // namespace dlaunch
