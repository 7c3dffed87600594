// Writes JSON (RFC 8259) directly into a string, without an intermediate tree, because the event
// log writes a line for every event. Pure; does not read JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch {

/// Appends `text` in quotes. Invalid UTF-8 becomes U+FFFD, so that the result always parses.
void append_json_string(std::string& out, std::string_view text);

/// Adds commas and colons; the caller balances begin and end.
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
  /// A decimal fraction with at most nine digits: `nano` billionths.
  JsonText& billionths(std::int64_t nano);
  /// The shortest text that reads back as the same number; null if it is not finite.
  JsonText& real(double value);
  JsonText& boolean(bool value);
  JsonText& null();
  JsonText& string_or_null(std::string_view value) {
    return value.empty() ? null() : string(value);
  }

  /// The next element or closing bracket starts a new line, `indent` spaces in.
  JsonText& line(std::size_t indent);

 private:
  void before_element();
  JsonText& begin(char bracket);
  JsonText& end(char bracket);
  void break_line();

  std::string& out_;
  bool first_ = true;  // no comma before the next element
  bool broken_ = false;
  std::size_t indent_ = 0;
};

/// Writes like JsonText::real(). std::to_chars would bring 170 KB of tables into each program.
void append_real(std::string& out, double value);

}  // namespace dlaunch
