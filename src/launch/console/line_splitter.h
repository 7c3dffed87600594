// LineSplitter joins the pieces of one byte stream into whole lines. Pure; one thread at a time.
//
// A line ends at "\n" or "\r\n" (any number of "\r" before the "\n"). A lone "\r" restarts the
// line, as progress bars do: the result is what a terminal shows in the end, see BarRows. In binary
// data "\r" is a byte like any other, until several lines are text again. A line longer than the
// limit is split into parts. Lines do not depend on how the stream was cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "launch/console/bar_rows.h"

namespace dlaunch {

class LineSplitter {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  /// `max_line`: maximum number of bytes that are held and that one part of a line has; at least 4.
  explicit LineSplitter(std::size_t max_line = kMaxLine) : max_line_(max_line) {}

  /// Calls sink(std::string_view text, bool continues) for each line that is now complete, without
  /// its line end; `continues`: the line's beginning has been handed out before.
  template <class Sink>
  void add(std::string_view bytes, Sink&& sink);

  /// The stream has ended: hands out a last line without line end.
  template <class Sink>
  void finish(Sink&& sink);

  /// Bytes held back because their line is not complete, not counting bars.
  [[nodiscard]] std::size_t held() const { return held_.size(); }

  [[nodiscard]] std::string_view held_text() const { return held_; }

  /// Drops the held bytes, because the rest of their line will not arrive. Returns how many.
  std::size_t drop_held();

  /// The progress bars that the stream is drawing; null when there are none.
  [[nodiscard]] const BarRows* bars() const { return bars_.get(); }
  /// Call regularly while there are bars: hands out those that the stream has left.
  template <class Sink>
  void settle(Sink&& sink);

 private:
  static const char* find(const char* from, const char* end, char c) {
    if (from == end) return end;  // memchr(3) must not get a null pointer
    const void* at = std::memchr(from, c, static_cast<std::size_t>(end - from));
    return at == nullptr ? end : static_cast<const char*>(at);
  }

  template <class Sink>
  const char* leave_plain_text(const char* at, const char* end, Sink&& sink);
  template <class Sink>
  void check_bars(Sink&& sink);
  template <class Sink>
  void hold(std::string_view text, Sink&& sink);
  template <class Sink>
  void hand_out(std::string_view line, Sink&& sink);
  [[nodiscard]] std::size_t cut(std::string_view text) const;
  void forget_held();
  void look_for_text(std::string_view line);

  // Binary data has lines that are text by chance, but not this many in a row.
  static constexpr std::size_t kTextLines = 8;

  std::size_t max_line_;
  std::string held_;
  bool continues_ = false;
  bool after_cr_ = false;  // held_ was followed by "\r", whose meaning is not known yet
  std::unique_ptr<BarRows> bars_;
  std::size_t text_lines_wanted_ = 0;  // before "\r" has a meaning again; more than 0: binary
};

template <class Sink>
void LineSplitter::add(std::string_view bytes, Sink&& sink) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  // Both positions are kept while they are ahead, so that every byte is examined only once for
  // each.
  const char* lf = find(at, end, '\n');
  const char* cr = find(at, end, '\r');
  while (at != end) {
    if (after_cr_ || bars_) {
      at = leave_plain_text(at, end, sink);
      continue;
    }
    if (lf < at) lf = find(at, end, '\n');
    if (cr < at) cr = find(at, end, '\r');
    const char* stop = text_lines_wanted_ > 0 ? lf : std::min(lf, cr);
    const std::string_view text(at, static_cast<std::size_t>(stop - at));
    if (stop == end) return hold(text, sink);
    if (*stop == '\n') {
      hand_out(text, sink);
    } else {
      hold(text, sink);
      after_cr_ = BarRows::is_text(held_);
      if (!after_cr_) {
        text_lines_wanted_ = kTextLines;
        hold("\r", sink);
      }
    }
    at = stop + 1;
  }
}

/// Reads on after a "\r", and while there are bars. Returns how far it has read.
template <class Sink>
const char* LineSplitter::leave_plain_text(const char* at, const char* end, Sink&& sink) {
  if (after_cr_) {
    if (*at == '\r') return at + 1;
    after_cr_ = false;
    if (*at == '\n') {
      hand_out({}, sink);
      return at + 1;
    }
    bars_ = std::make_unique<BarRows>(std::exchange(held_, {}));
    continues_ = false;
  }
  at += bars_->add(std::string_view(at, static_cast<std::size_t>(end - at)),
                   [&](std::string_view row) { sink(row, false); });
  check_bars(sink);
  return at;
}

template <class Sink>
void LineSplitter::check_bars(Sink&& sink) {
  if (!bars_ || !bars_->done()) return;
  const std::string rest = std::move(bars_->rest());
  if (bars_->is_binary()) text_lines_wanted_ = kTextLines;
  bars_.reset();
  hold(rest, sink);
}

template <class Sink>
void LineSplitter::settle(Sink&& sink) {
  if (!bars_) return;
  bars_->settle([&](std::string_view row) { sink(row, false); });
  check_bars(sink);
}

template <class Sink>
void LineSplitter::hold(std::string_view text, Sink&& sink) {
  while (held_.size() + text.size() > max_line_) {
    const std::size_t taken = std::min(text.size(), max_line_ + 1 - held_.size());
    held_.append(text.substr(0, taken));
    text.remove_prefix(taken);
    const std::size_t part = cut(held_);
    sink(std::string_view(held_).substr(0, part), continues_);
    continues_ = true;
    held_.erase(0, part);
  }
  held_.append(text);
}

template <class Sink>
void LineSplitter::hand_out(std::string_view line, Sink&& sink) {
  if (!held_.empty() || line.size() > max_line_) {
    hold(line, sink);
    line = held_;
  }
  if (text_lines_wanted_ > 0) look_for_text(line);
  sink(line, continues_);
  continues_ = false;
  if (!held_.empty()) forget_held();
}

template <class Sink>
void LineSplitter::finish(Sink&& sink) {
  after_cr_ = false;
  if (bars_) bars_->finish([&](std::string_view row) { sink(row, false); });
  check_bars(sink);
  if (!held_.empty()) hand_out({}, sink);
}

}  // namespace dlaunch
