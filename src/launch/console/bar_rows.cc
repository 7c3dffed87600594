#include "launch/console/bar_rows.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace dlaunch {

namespace {

// Longer than any sequence that is interpreted; longer ones pass as text.
constexpr std::size_t kMaxEscape = 16;
constexpr std::string_view kTerminalControls = "\a\b\t\v\f\x0e\x0f\x1b";  // SO, SI: other letters

std::string_view without_trailing_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

BarRows::BarRows(std::string line) {
  Row& row = rows_.emplace_back();
  row.before = std::move(line);
  row.is_bar = true;
}

std::string_view BarRows::Row::shown() const {
  return without_trailing_blanks(text.empty() ? before : text);
}

std::string BarRows::Row::bytes() const {
  return is_bar ? before + '\r' + text : text;
}

bool BarRows::is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto c = static_cast<unsigned char>(bytes.front());
    if (c >= ' ' && c < 0x7F) {
      bytes.remove_prefix(1);
      continue;
    }
    const bool is_control = c < ' ' || c == 0x7F;
    if (is_control && kTerminalControls.find(bytes.front()) == std::string_view::npos) return false;
    const CodePoint point = decode_utf8(bytes);
    if (!point.valid) return false;
    bytes.remove_prefix(point.size);
  }
  return true;
}

void BarRows::write(std::string_view text) {
  Row& row = rows_[at_];
  if (row.is_fresh) row.text.clear();
  row.is_fresh = false;
  row.text.append(text);
}

std::size_t BarRows::held() const {
  std::size_t bytes = 0;
  for (const Row& row : rows_) bytes += row.text.size() + row.before.size();
  return bytes;
}

void BarRows::carriage_return() {
  Row& row = rows_[at_];
  row.is_bar = true;
  row.is_fresh = true;
  if (!row.text.empty()) row.before = std::exchange(row.text, {});
}

void BarRows::move_down() {
  moved_ = true;
  if (++at_ == rows_.size()) rows_.emplace_back();
  if (rows_[at_].shown().empty()) rows_[at_] = {};  // a bar that was erased
  rows_[at_].is_fresh = true;
}

// ECMA-48, 5.4: a control sequence is ESC [, parameters and intermediates 0x20-0x3f, a final byte
// 0x40-0x7e.
void BarRows::escape(char c) {
  escape_ += c;
  const bool is_open = escape_.size() == 1 || (escape_.size() == 2 && c == '[') ||
                       (escape_.size() > 2 && c >= ' ' && c < '@');
  if (is_open && escape_.size() < kMaxEscape) return;
  apply_escape();
  escape_.clear();
}

void BarRows::apply_escape() {
  const bool is_control = escape_.size() > 2 && escape_[1] == '[';
  const char final = escape_.back();
  std::size_t count = 0;
  for (std::size_t i = 2; i + 1 < escape_.size() && escape_[i] >= '0' && escape_[i] <= '9'; ++i)
    count =
        std::min<std::size_t>(count * 10 + static_cast<std::size_t>(escape_[i] - '0'), kMaxRows);
  if (is_control && final == 'A') {  // up
    moved_ = true;
    at_ -= std::min(at_, std::max<std::size_t>(count, 1));
    rows_[at_].is_fresh = true;
  } else if (is_control && final == 'B') {  // down, as far as there are rows
    moved_ = true;
    at_ = std::min(rows_.size() - 1, at_ + std::max<std::size_t>(count, 1));
    rows_[at_].is_fresh = true;
  } else if (is_control && final == 'K') {  // erase: to the end of the line, or all of it
    Row& row = rows_[at_];
    if (row.is_fresh || count == 2) {
      row.text.clear();
      row.before.clear();
    }
  } else {
    write(escape_);
  }
}

void BarRows::check_done() {
  done_ = rows_.size() == 1 && !rows_.front().is_bar;
}

}  // namespace dlaunch
