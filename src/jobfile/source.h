// Where a piece of job text came from: the job file, or one command-line argument.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::jobfile {

struct Source {
  std::string name;          // the file as typed, or the argument ("--set restart.max=3")
  std::string text;          // UTF-8
  bool is_argument = false;  // errors then name the argument instead of line and column
};

/// Index = SourceRange::source. The file (or an empty placeholder for it) is always 0.
using Sources = std::vector<Source>;

/// A range of text in one source. Ordered by source, then by position.
struct SourceRange {
  /// Offset that stands for the source as a whole, for example for a missing key.
  static constexpr std::uint32_t kWhole = 0xffffffff;

  std::uint32_t source = 0;
  std::uint32_t offset = 0;  // bytes from the start of the text
  std::uint32_t length = 0;  // bytes

  [[nodiscard]] static SourceRange whole(std::uint32_t source) { return {source, kWhole, 0}; }
  [[nodiscard]] bool is_whole() const { return offset == kWhole; }
  auto operator<=>(const SourceRange&) const = default;
};

/// Line and column count from 1; columns count characters (code points), as editors do.
struct Location {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  bool operator==(const Location&) const = default;
};

/// Only the line, which is faster than locate(). In both functions, an offset beyond the end counts
/// as the end.
[[nodiscard]] std::uint32_t line_of(std::string_view text, std::uint32_t offset);

[[nodiscard]] Location locate(std::string_view text, std::uint32_t offset);

/// A problem in a text, and where it is.
struct TextProblem {
  SourceRange range;  // with source 0: only the caller knows the source
  std::string message;
};

/// The largest job file: a single argument is at most 128 KiB on Linux (execve(2)), and this much
/// parses in a few hundredths of a second in the worst case.
inline constexpr std::size_t kMaxTextBytes = 256 * 1024;

/// The text without the UTF-8 byte order mark that some editors write.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// Accepts at most kMaxTextBytes of UTF-8 without byte order mark, NUL and other control characters
/// (YAML 1.2.2, section 5.1; yaml-cpp takes U+0004 for the end of the file), and without a no-break
/// space where YAML needs an ordinary one. Returns at most one problem.
[[nodiscard]] std::vector<TextProblem> check_text(std::string_view text);

}  // namespace dlaunch::jobfile
