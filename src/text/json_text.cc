#include "text/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "text/utf8.h"

namespace dlaunch {

namespace {

// Characters that go into a JSON string as they are; RFC 8259 section 7.
constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}
constexpr std::array<bool, 256> kPlain = make_plain();

void append_escape(std::string& out, unsigned char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u00";
  out += kHex[c >> 4U];
  out += kHex[c & 0xFU];
}

void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && kPlain[static_cast<unsigned char>(text[plain])]) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text[0]);
    const CodePoint point = decode_utf8(text);
    if (c < 0x80) {
      append_escape(out, c);
    } else {
      out.append(point.valid ? text.substr(0, point.size) : kReplacement);
    }
    text.remove_prefix(point.size);
  }
  out += '"';
}

void JsonText::break_line() {
  if (!broken_) return;
  out_ += '\n';
  out_.append(indent_, ' ');
  broken_ = false;
}

void JsonText::before_element() {
  if (!first_) out_ += ',';
  if (!first_ && !broken_) out_ += ' ';
  break_line();
  first_ = false;
}

JsonText& JsonText::begin(char bracket) {
  before_element();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonText& JsonText::end(char bracket) {
  break_line();
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  before_element();
  append_json_string(out_, name);
  out_ += ": ";
  first_ = true;
  return *this;
}

JsonText& JsonText::string(std::string_view value) {
  before_element();
  append_json_string(out_, value);
  return *this;
}

JsonText& JsonText::number(std::int64_t value) {
  before_element();
  append_integer(out_, value);
  return *this;
}

JsonText& JsonText::billionths(std::int64_t nano) {
  constexpr std::int64_t kOne = 1'000'000'000;
  before_element();
  if (nano < 0) out_ += '-';
  const std::int64_t whole = nano / kOne < 0 ? -(nano / kOne) : nano / kOne;
  std::int64_t part = nano % kOne < 0 ? -(nano % kOne) : nano % kOne;
  append_integer(out_, whole);
  if (part == 0) return *this;
  std::string digits = std::to_string(part + kOne).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  out_ += '.';
  out_ += digits;
  return *this;
}

JsonText& JsonText::real(double value) {
  before_element();
  append_real(out_, value);
  return *this;
}

JsonText& JsonText::boolean(bool value) {
  before_element();
  out_ += value ? "true" : "false";
  return *this;
}

JsonText& JsonText::null() {
  before_element();
  out_ += "null";
  return *this;
}

JsonText& JsonText::line(std::size_t indent) {
  broken_ = true;
  indent_ = indent;
  return *this;
}

void append_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char digits[32];
  for (int precision = 15; precision <= 17; ++precision) {
    std::snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (std::strtod(digits, nullptr) == value) break;
  }
  out += digits;
}

}  // namespace dlaunch
