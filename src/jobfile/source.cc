#include "jobfile/source.h"

#include <algorithm>
#include <cstdio>

#include "text/utf8.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::uint32_t kNoBreakSpace = 0xa0;
/// The size of a sample that is large enough to tell text from binary data.
constexpr std::size_t kSample = 4096;

TextProblem problem(std::size_t offset, std::size_t length, std::string message) {
  return {SourceRange{0, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length)},
          std::move(message)};
}

TextProblem whole(std::string message) {
  return {SourceRange::whole(0), std::move(message)};
}

bool is_allowed(std::uint32_t value) {
  if (value == '\t' || value == '\n' || value == 0x85) return true;
  return value >= 0x20 && (value < 0x7f || value >= 0xa0) && value != 0xfeff && value != 0xfffe &&
         value != 0xffff;
}

std::string code_point_name(std::uint32_t value) {
  char name[16];
  std::snprintf(name, sizeof name, "U+%04X", value);
  return name;
}

std::string describe(std::uint32_t value) {
  if (value == '\r')
    return "a carriage return without a line feed; save the file with Unix line endings";
  return "the control character " + code_point_name(value) +
         ", which YAML does not allow; remove it";
}

/// 0x91 to 0x94 are quotes in Windows-1252, which word processors use.
std::string describe_byte(unsigned char byte) {
  char name[8];
  std::snprintf(name, sizeof name, "0x%02x", byte);
  const bool is_quote = byte >= 0x91 && byte <= 0x94;
  return std::string("the byte ") + name + " is not UTF-8" +
         (is_quote ? " (a curly quote of Windows-1252?); write \" or ' instead"
                   : "; save the file as UTF-8");
}

/// True for a picture, an archive or a program: naming its first odd character would not help.
bool is_binary(std::string_view text) {
  const std::string_view sample = text.substr(0, kSample);
  std::size_t odd = 0;
  for (std::size_t i = 0; i < sample.size();) {
    const CodePoint c = decode_utf8(sample.substr(i));
    if (!c.valid || (c.value < 0x20 && c.value != '\t' && c.value != '\n' && c.value != '\r'))
      ++odd;
    i += c.size;
  }
  return odd > 3 && odd * 20 > sample.size();
}

std::string utf_of(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return "UTF-16";
  // Without a byte order mark, every other byte of ASCII text in UTF-16 is NUL.
  const bool alternates = text.size() >= 4 && (text[0] == 0) == (text[2] == 0) &&
                          (text[1] == 0) == (text[3] == 0) && (text[0] == 0) != (text[1] == 0);
  return alternates ? "UTF-16" : "";
}

/// True for a no-break space in the indentation or after "key:" or "-", where YAML takes it for
/// text. Web pages and chat programs insert such spaces.
bool separates(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto last = before.find_last_not_of(' ');
  return last == std::string_view::npos || before[last] == '\n' || before[last] == ':' ||
         before[last] == '-';
}

/// The problem of one character, if any.
std::vector<TextProblem> check_character(std::string_view text, std::size_t i, const CodePoint& c) {
  if (!c.valid || c.value == 0) {
    if (is_binary(text)) return {whole("this is not a text file; is it the right one?")};
    if (c.valid) return {problem(i, 1, "a NUL byte; is this a text file?")};
    return {problem(i, 1, describe_byte(static_cast<unsigned char>(text[i])))};
  }
  if (c.value == kNoBreakSpace && separates(text, i)) {
    return {problem(i, c.size,
                    "a no-break space (U+00A0), which YAML takes for text; write an ordinary one")};
  }
  const bool ends_line = c.value == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
  if (ends_line || is_allowed(c.value)) return {};
  if (is_binary(text)) return {whole("this is not a text file; is it the right one?")};
  return {problem(i, c.size, describe(c.value))};
}

}  // namespace

std::uint32_t line_of(std::string_view text, std::uint32_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
}

Location locate(std::string_view text, std::uint32_t offset) {
  const std::size_t end = std::min<std::size_t>(offset, text.size());
  Location at;
  at.line = line_of(text, offset);
  const auto before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
  const std::size_t line_start = before == std::string_view::npos ? 0 : before + 1;
  for (std::size_t i = line_start; i < end; i += decode_utf8(text.substr(i)).size) ++at.column;
  return at;
}

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

std::vector<TextProblem> check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes)
    return {whole("the file is larger than 256 KiB; is this a job file?")};
  if (const std::string utf = utf_of(text); !utf.empty())
    return {whole("the file is " + utf + "; save it as UTF-8")};
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.substr(i));
    auto found = check_character(text, i, c);
    if (!found.empty()) return found;
    i += c.size;
  }
  return {};
}

}  // namespace dlaunch::jobfile
