#include "os/clock.h"

#include <ctime>

namespace dlaunch {

namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

MonotonicTime monotonic_now() {
  return read_clock(CLOCK_MONOTONIC);
}

WallTime wall_now() {
  return WallTime(read_clock(CLOCK_REALTIME));
}

WallTime file_time_now() {
  return WallTime(read_clock(CLOCK_REALTIME_COARSE));
}

DateParts local_parts(WallTime time) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return {parts.tm_year + 1900,
          parts.tm_mon + 1,
          parts.tm_mday,
          parts.tm_hour,
          parts.tm_min,
          parts.tm_sec,
          0};
}

}  // namespace dlaunch
