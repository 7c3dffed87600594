#include "spec/source.h"

#include <algorithm>
#include <cstdio>

#include "spec/utf8.h"

namespace dlaunch::spec {

namespace {

constexpr std::size_t kMaxBytes = 1024 * 1024;

TextProblem problem(std::size_t offset, std::size_t length, std::string message) {
  return {Place{0, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length)},
          std::move(message)};
}

TextProblem whole(std::string message) {
  return {Place::whole(0), std::move(message)};
}

bool is_allowed(std::uint32_t value) {
  if (value == '\t' || value == '\n' || value == 0x85) return true;
  return value >= 0x20 && (value < 0x7f || value >= 0xa0) && value != 0xfeff && value != 0xfffe &&
         value != 0xffff;
}

std::string describe(std::uint32_t value) {
  char name[16];
  std::snprintf(name, sizeof name, "U+%04X", value);
  if (value == 0) return "a NUL byte; is this a text file?";
  if (value == '\r')
    return "a carriage return without a line feed; save the file with Unix line ends";
  return std::string("the control character ") + name + ", which YAML does not allow; remove it";
}

bool starts_with_bytes(std::string_view text, std::string_view bytes) {
  return text.substr(0, bytes.size()) == bytes;
}

}  // namespace

Location locate(std::string_view text, std::uint32_t offset) {
  const std::size_t end = std::min<std::size_t>(offset, text.size());
  Location at;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (text[i] != '\n') continue;
    ++at.line;
    line_start = i + 1;
  }
  for (std::size_t i = line_start; i < end; i += decode_utf8(text, i).length) ++at.column;
  return at;
}

std::vector<TextProblem> check_text(std::string_view text) {
  if (text.size() > kMaxBytes) return {whole("the file is larger than 1 MiB; is this a job file?")};
  if (starts_with_bytes(text, "\xff\xfe") || starts_with_bytes(text, "\xfe\xff")) {
    return {whole("the file is UTF-16; save it as UTF-8")};
  }
  if (starts_with_bytes(text, "\xef\xbb\xbf")) {
    return {whole("the file starts with a byte order mark; save it as UTF-8 without one")};
  }
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    if (!c.valid)
      return {problem(i, 1, "the text is not UTF-8 from here on; save the file as UTF-8")};
    const bool ends_line = c.value == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!ends_line && !is_allowed(c.value)) return {problem(i, c.length, describe(c.value))};
    i += c.length;
  }
  return {};
}

}  // namespace dlaunch::spec
