#include "report/duration_text.h"

#include <algorithm>
#include <cstdint>

#include "log/time_text.h"

namespace dlaunch {

namespace {

using std::chrono::milliseconds;

std::int64_t rounded(std::chrono::nanoseconds duration, milliseconds unit) {
  return (duration + std::chrono::nanoseconds(unit) / 2) / unit;
}

/// `value` in units of 10^-places seconds.
std::string fraction(std::int64_t value, int places, int one) {
  std::string out = std::to_string(value / one) + '.';
  append_digits(out, static_cast<int>(value % one), places);
  return out + " s";
}

}  // namespace

std::string duration_text(std::chrono::nanoseconds duration) {
  if (duration <= std::chrono::nanoseconds(0)) return "0 s";
  const std::int64_t ms = std::max<std::int64_t>(rounded(duration, milliseconds(1)), 1);
  if (ms < 10) return fraction(ms, 3, 1000);
  const std::int64_t hundredths = rounded(duration, milliseconds(10));
  if (hundredths < 10) return fraction(hundredths, 2, 100);
  const std::int64_t tenths = rounded(duration, milliseconds(100));
  if (tenths < 600) return fraction(tenths, 1, 10);
  const std::int64_t seconds = rounded(duration, milliseconds(1000));
  const bool hours = seconds >= 3600;
  const std::int64_t whole = hours ? seconds / 3600 : seconds / 60;
  const std::int64_t part = hours ? seconds / 60 % 60 : seconds % 60;
  std::string out = std::to_string(whole) + (hours ? " h " : " min ");
  append_digits(out, static_cast<int>(part), 2);
  return out + (hours ? " min" : " s");
}

}  // namespace dlaunch
