// BarRows follows a stream that draws progress bars: text that returns to the start of its line
// with a lone "\r" to rewrite it, and moves up and down over a few lines (tqdm with several bars
// writes "\n", the bar, and ESC [ A). It knows what a terminal would show in these rows. Pure; one
// thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace dlaunch {

/// Rows are handed out from the top: as soon as a row of plain text ends below them, or when
/// settle() finds that the stream has continued below. A bar that was overwritten with blanks
/// leaves nothing. Text drawn over a longer text replaces all of it, so that no remainder stays;
/// SGR sequences (colours) are kept. Rows are bounded in number, in length, and in total size:
/// beyond that the stream is ordinary text again. Binary data is ordinary text, too: it draws no
/// bars, and BarRows drops no byte of it.
class BarRows {
 public:
  static constexpr std::size_t kMaxRows = 16;
  static constexpr std::size_t kMaxRow = std::size_t{16} << 10;
  static constexpr std::size_t kMaxHeld = std::size_t{64} << 10;  // bytes of all rows

  /// `line`: what the row showed before its first "\r".
  explicit BarRows(std::string line);

  /// Reads until the end, or until no row is a bar: see done(). Returns the number of bytes read.
  /// Calls sink(std::string_view row) for each row that is complete.
  template <class Sink>
  std::size_t add(std::string_view bytes, Sink&& sink);
  /// The last state of each remaining row.
  template <class Sink>
  void finish(Sink&& sink);
  /// Call regularly: hands out the rows above the current one, unless the stream has moved between
  /// rows since the last call.
  template <class Sink>
  void settle(Sink&& sink);

  /// The stream is ordinary text again; rest() is the beginning of its line.
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::string& rest() { return rows_.front().text; }

  /// done(), because the stream is binary; rest() still contains its "\r".
  [[nodiscard]] bool is_binary() const { return is_binary_; }

  /// Valid UTF-8 without control characters other than those for terminals.
  [[nodiscard]] static bool is_text(std::string_view bytes);

  /// Bytes of all rows.
  [[nodiscard]] std::size_t held() const;

  /// Calls show(std::string_view row) for each row that has something to show, from the top.
  template <class Show>
  void each(Show&& show) const;

 private:
  struct Row {
    std::string text;    // since the last "\r"
    std::string before;  // the previous text, shown until there is more
    bool is_bar = false;
    bool is_fresh = true;  // new text replaces this
    [[nodiscard]] std::string_view shown() const;
    /// The row's text and the text that it has replaced, as in the stream.
    [[nodiscard]] std::string bytes() const;
  };

  void write(std::string_view text);
  void carriage_return();
  void move_down();
  void escape(char c);
  void apply_escape();
  template <class Sink>
  void hand_out(std::size_t count, Sink&& sink);
  template <class Sink>
  void become_text(Sink&& sink);
  template <class Sink>
  void become_binary(Sink&& sink);
  void check_done();

  std::deque<Row> rows_;
  std::size_t at_ = 0;  // the row that the stream is in
  std::string escape_;  // a sequence that is not complete
  bool moved_ = false;  // between rows, since the last settle()
  bool done_ = false;
  bool is_binary_ = false;
};

template <class Sink>
void BarRows::hand_out(std::size_t count, Sink&& sink) {
  for (; count > 0; --count) {
    const Row& row = rows_.front();
    if (!row.is_bar || !row.shown().empty()) sink(row.shown());
    rows_.pop_front();
    if (at_ > 0) --at_;
  }
  if (rows_.empty()) rows_.emplace_back();
}

/// The row that the stream is in becomes the beginning of a line; it follows all others, because it
/// continues.
template <class Sink>
void BarRows::become_text(Sink&& sink) {
  hand_out(at_, sink);
  Row line = std::move(rows_.front());
  rows_.pop_front();
  finish(sink);
  line.is_bar = false;
  rows_.front() = std::move(line);
}

template <class Sink>
void BarRows::become_binary(Sink&& sink) {
  rows_[at_].text = rows_[at_].bytes();
  become_text(sink);
  is_binary_ = true;
}

template <class Sink>
std::size_t BarRows::add(std::string_view bytes, Sink&& sink) {
  std::size_t i = 0;
  while (i < bytes.size() && !done_) {
    if (!escape_.empty()) {
      escape(bytes[i++]);
      continue;
    }
    const std::size_t stop = std::min(bytes.find_first_of("\r\n\x1b", i), bytes.size());
    if (stop > i) write(bytes.substr(i, stop - i));
    i = stop;
    if (rows_[at_].text.size() > kMaxRow || held() > kMaxHeld) {  // no bars are that long
      become_text(sink);
      continue;
    }
    if (i == bytes.size()) break;
    const char c = bytes[i++];
    if (c != '\x1b' && !is_text(rows_[at_].text)) {
      become_binary(sink);
      if (c == '\n') return i - 1;  // leave it to the caller
      rest() += c;
    } else if (c == '\r') {
      carriage_return();
    } else if (c == '\x1b') {
      escape(c);
    } else {
      const bool ends_text = !rows_[at_].is_bar && at_ + 1 == rows_.size();
      move_down();
      if (ends_text || rows_.size() > kMaxRows) hand_out(at_, sink);
      if (ends_text) check_done();
    }
  }
  return i;
}

template <class Sink>
void BarRows::settle(Sink&& sink) {
  const bool moved = moved_;
  moved_ = false;
  if (moved) return;
  hand_out(at_, sink);
  check_done();
}

template <class Sink>
void BarRows::finish(Sink&& sink) {
  for (const Row& row : rows_) {
    if (!is_text(row.text)) {
      sink(std::string_view(row.bytes()));
    } else if (!row.shown().empty()) {
      sink(row.shown());
    }
  }
  rows_.assign(1, {});
  at_ = 0;
  done_ = true;
}

template <class Show>
void BarRows::each(Show&& show) const {
  for (const Row& row : rows_) {
    if (!row.shown().empty()) show(row.shown());
  }
}

}  // namespace dlaunch
