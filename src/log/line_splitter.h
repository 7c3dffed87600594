// LineSplitter joins the pieces of one byte stream into whole lines. Pure; one thread at a time.
//
// A line ends at "\n", at "\r\n" (any number of "\r" before the "\n"), or at a lone "\r", which is
// how progress bars end a state of theirs. A lone "\r" where nothing has been written yet ends
// nothing. A line longer than the limit comes in parts. Lines do not depend on how the stream was
// cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace dlaunch {

class LineSplitter {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  /// `max_line`: the most bytes that are held and that one part of a line has; at least 4.
  explicit LineSplitter(std::size_t max_line = kMaxLine) : max_line_(max_line) {}

  /// Calls sink(std::string_view text, bool continues) for each line that is now complete, without
  /// its line end; `continues`: the line's beginning has been handed out before.
  template <class Sink>
  void add(std::string_view bytes, Sink&& sink);

  /// The stream has ended: hands out what is left of a line that has no line end.
  template <class Sink>
  void finish(Sink&& sink);

  /// Bytes held back because their line is not complete.
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  // What the bytes just read mean for a "\n" that may follow.
  enum class After {
    text,
    line_by_cr,   // the line was handed out at its "\r": "\n" belongs to it
    cr_at_start,  // "\r" on an empty line: with "\n" it is an empty line, else nothing
  };

  static const char* find(const char* from, const char* end, char c) {
    if (from == end) return end;  // memchr(3) wants a pointer that is no null pointer
    const void* at = std::memchr(from, c, static_cast<std::size_t>(end - from));
    return at == nullptr ? end : static_cast<const char*>(at);
  }

  template <class Sink>
  const char* settle(const char* at, Sink&& sink);
  template <class Sink>
  void hold(std::string_view text, Sink&& sink);
  template <class Sink>
  void hand_out(std::string_view line, Sink&& sink);
  [[nodiscard]] std::size_t cut(std::string_view text) const;
  void forget_held();

  std::size_t max_line_;
  std::string held_;
  bool continues_ = false;
  After after_ = After::text;
};

template <class Sink>
void LineSplitter::add(std::string_view bytes, Sink&& sink) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  // Both positions are kept while they are ahead, so that every byte is looked at once for each.
  const char* lf = find(at, end, '\n');
  const char* cr = find(at, end, '\r');
  while (at != end) {
    if (after_ != After::text) {
      const char* next = settle(at, sink);
      if (next != at) {
        at = next;
        continue;
      }
    }
    if (lf < at) lf = find(at, end, '\n');
    if (cr < at) cr = find(at, end, '\r');
    const char* stop = std::min(lf, cr);
    const std::string_view text(at, static_cast<std::size_t>(stop - at));
    if (stop == end) return hold(text, sink);
    const bool is_empty = text.empty() && held_.empty();
    if (*stop == '\n' || !is_empty) hand_out(text, sink);
    if (*stop == '\r') after_ = is_empty ? After::cr_at_start : After::line_by_cr;
    at = stop + 1;
  }
}

/// Reads one byte after a "\r", if it is a line end too.
template <class Sink>
const char* LineSplitter::settle(const char* at, Sink&& sink) {
  if (*at == '\r') return at + 1;
  const bool is_empty_line = after_ == After::cr_at_start && *at == '\n';
  after_ = After::text;
  if (is_empty_line) hand_out({}, sink);
  return *at == '\n' ? at + 1 : at;
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
  sink(line, continues_);
  continues_ = false;
  if (!held_.empty()) forget_held();
}

template <class Sink>
void LineSplitter::finish(Sink&& sink) {
  after_ = After::text;
  if (!held_.empty()) hand_out({}, sink);
}

}  // namespace dlaunch
