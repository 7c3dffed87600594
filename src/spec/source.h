// Where a piece of job text came from: the job file, or one argument of the command line.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::spec {

struct Source {
  std::string name;  // the file as the user typed it, or the argument ("--set restart.max=3")
  std::string text;  // UTF-8
  bool is_argument = false;  // errors then name the argument instead of line and column
};

/// Index = Place::source. The file (or an empty stand-in for it) is always 0.
using Sources = std::vector<Source>;

/// A stretch of text in one source. Orders by source, then by position.
struct Place {
  /// Offset of a place that means the source as a whole, such as a key that is missing.
  static constexpr std::uint32_t kWhole = 0xffffffff;

  std::uint32_t source = 0;
  std::uint32_t offset = 0;  // bytes from the start of the text
  std::uint32_t length = 0;  // bytes

  [[nodiscard]] static Place whole(std::uint32_t source) { return {source, kWhole, 0}; }
  [[nodiscard]] bool is_whole() const { return offset == kWhole; }
  auto operator<=>(const Place&) const = default;
};

/// Line and column count from 1; columns count characters (code points), as editors do.
struct Location {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  bool operator==(const Location&) const = default;
};

/// The line only, which is quicker. Offsets beyond the end count as the end, here and below.
[[nodiscard]] std::uint32_t line_of(std::string_view text, std::uint32_t offset);

[[nodiscard]] Location locate(std::string_view text, std::uint32_t offset);

/// First problem of the bytes themselves, so that the YAML parser sees clean text only.
struct TextProblem {
  Place place;  // its source is 0: the caller knows which one it is
  std::string message;
};

/// More is no job file: a single argument of a program is at most 128 KiB on Linux (execve(2)), and
/// this much is read in a few hundredths of a second, whatever it holds.
inline constexpr std::size_t kMaxTextBytes = 256 * 1024;

/// The text without the byte order mark that some editors put before UTF-8.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// At most kMaxTextBytes of UTF-8 without byte order mark, NUL and other control characters
/// (YAML 1.2.2, section 5.1; yaml-cpp takes U+0004 for the end of the file), and without a no-break
/// space where YAML wants an ordinary one. Returns one problem or none.
[[nodiscard]] std::vector<TextProblem> check_text(std::string_view text);

}  // namespace dlaunch::spec
