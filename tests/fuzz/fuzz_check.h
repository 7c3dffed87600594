// What the fuzz targets share: checks that end the process, so that libFuzzer keeps the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch::fuzz {

/// Prints `what` and aborts unless `holds`.
void check(bool holds, const char* what, std::string_view detail = {});

/// An error message is for users: not empty, UTF-8, no control character except line feeds, no line
/// longer than `longest_line` bytes, at most `most_bytes` in all.
void check_message(std::string_view message, std::size_t longest_line, std::size_t most_bytes);

/// Counts the heap while it lives; needs AddressSanitizer. One at a time.
class HeapMeter {
 public:
  HeapMeter();
  ~HeapMeter();
  HeapMeter(const HeapMeter&) = delete;
  HeapMeter& operator=(const HeapMeter&) = delete;
  /// The largest amount allocated at one moment since the start, minus that at the start.
  [[nodiscard]] static std::int64_t peak();
};

}  // namespace dlaunch::fuzz
