// Points in time as values and as text. Pure: nothing here reads a clock.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch {

/// Time on the launcher's monotonic clock (CLOCK_MONOTONIC), from an arbitrary start.
using MonotonicTime = std::chrono::nanoseconds;

/// Wall-clock time (CLOCK_REALTIME), UTC. Times from nodes are corrected by the measured clock
/// offset.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

/// "2026-11-20T21:01:42.123456Z": RFC 3339 in UTC, to the microsecond (rounded down).
[[nodiscard]] std::string time_text(WallTime time);

/// Reads what time_text() writes, with or without a fraction. Errors: kUsage; they quote the text.
[[nodiscard]] Result<WallTime> parse_time(std::string_view text);

/// The parts of a UTC date, as numbers.
struct DateParts {
  int year = 0;
  int month = 0;  // 1..12
  int day = 0;    // 1..31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int nanosecond = 0;
  bool operator==(const DateParts&) const = default;
};
[[nodiscard]] DateParts date_parts(WallTime time);

/// Writes `value` (not negative) with exactly `digits` decimal digits.
void append_digits(std::string& out, int value, int digits);

}  // namespace dlaunch
