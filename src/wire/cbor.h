// The part of CBOR (RFC 8949) that control payloads use: definite lengths, no tags. Payloads are
// written and read without an intermediate JSON value: a StartRanks of 256 ranks takes a fraction
// of a millisecond instead of several. Thread-safety: distinct objects may be used concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch::wire::cbor {

/// Major types, RFC 8949 section 3.1. Type 6 (tags) is refused.
enum class Major : std::uint8_t {
  unsigned_number = 0,
  negative_number = 1,
  bytes = 2,
  text = 3,
  array = 4,
  map = 5,
  simple = 7,
};

/// First byte of an item and the number that belongs to it: a value, a length, a count, or the
/// simple value's number (20 false, 21 true, 22 null).
struct Head {
  Major major = Major::unsigned_number;
  std::uint64_t argument = 0;
};

inline constexpr std::uint64_t kFalse = 20;
inline constexpr std::uint64_t kTrue = 21;
inline constexpr std::uint64_t kNull = 22;

/// Appends items to a string, numbers in their shortest form (RFC 8949 section 4.1).
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void head(Major major, std::uint64_t argument);
  void number(std::int64_t value);
  void number(std::uint64_t value) { head(Major::unsigned_number, value); }
  void boolean(bool value) { head(Major::simple, value ? kTrue : kFalse); }
  void null() { head(Major::simple, kNull); }
  void bytes(std::string_view value);
  /// Writes three pieces as one byte string, so that NAME=VALUE needs no temporary string.
  void bytes(std::string_view a, std::string_view b, std::string_view c);
  void text(std::string_view value);

 private:
  std::string& out_;
};

/// Ok if `payload` is exactly one well-formed item, at most `max_depth` arrays and maps deep,
/// without indefinite lengths or tags. Compares every length and count with the bytes present,
/// allocates nothing that depends on them, and does not recurse.
[[nodiscard]] Status check(std::string_view payload, int max_depth);

/// Walks over bytes that check() has accepted. The caller must not read past the end of an item.
class Cursor {
 public:
  explicit Cursor(std::string_view payload, std::size_t position = 0)
      : payload_(payload), position_(position) {}
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] Head head();
  /// The content of a byte or text string whose head was just read.
  [[nodiscard]] std::string_view content(const Head& string);
  /// Skips one item and everything in it.
  void skip();

 private:
  std::string_view payload_;
  std::size_t position_;
};

}  // namespace dlaunch::wire::cbor
