#include "text/duration_text.h"

#include <algorithm>
#include <cstdint>

namespace dlaunch {

namespace {

using std::chrono::milliseconds;

std::int64_t rounded(std::chrono::nanoseconds duration, milliseconds unit) {
  return (duration + std::chrono::nanoseconds(unit) / 2) / unit;
}

}  // namespace

std::string duration_text(std::chrono::nanoseconds duration) {
  if (duration <= std::chrono::nanoseconds(0)) return "0 s";
  const std::int64_t ms = std::max<std::int64_t>(rounded(duration, milliseconds(1)), 1);
  if (ms < 1000) return std::to_string(ms) + " ms";
  const std::int64_t tenths = rounded(duration, milliseconds(100));
  if (tenths < 600) return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
  const std::int64_t seconds = rounded(duration, milliseconds(1000));
  const bool hours = seconds >= 3600;
  const std::int64_t whole = hours ? seconds / 3600 : seconds / 60;
  const std::int64_t part = hours ? seconds / 60 % 60 : seconds % 60;
  return std::to_string(whole) + (hours ? " h " : " min ") + (part < 10 ? "0" : "") +
         std::to_string(part) + (hours ? " min" : " s");
}

}  // namespace dlaunch
