// Writes JSON (RFC 8259) straight into a string, without a tree in between: the event log writes a
// line for everything that happens. Pure; not for reading JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch {

/// Appends `text` in quotes. Invalid UTF-8 becomes U+FFFD, so that the result always parses.
void append_json_string(std::string& out, std::string_view text);

/// Puts commas and colons where they belong; that begins and ends match is the caller's part.
class JsonText {
 public:
  /// Appends to `out`, which must outlive this.
  explicit JsonText(std::string& out) : out_(out) {}

  JsonText& begin_object() { return begin('{'); }
  JsonText& end_object() { return end('}'); }
  JsonText& begin_array() { return begin('['); }
  JsonText& end_array() { return end(']'); }
  JsonText& key(std::string_view name);

  JsonText& string(std::string_view value);
  JsonText& number(std::int64_t value);
  /// A decimal fraction with at most nine places: `nano` billionths.
  JsonText& billionths(std::int64_t nano);
  /// The shortest text that reads back as the same number; null where it is not finite.
  JsonText& real(double value);
  JsonText& boolean(bool value);
  JsonText& null();

  /// The next element or closing bracket starts a new line, `indent` spaces in.
  JsonText& line(std::size_t indent);

 private:
  void before_element();
  JsonText& begin(char bracket);
  JsonText& end(char bracket);
  void break_line();

  std::string& out_;
  bool first_ = true;  // no comma before what comes next
  bool broken_ = false;
  std::size_t indent_ = 0;
};

}  // namespace dlaunch
