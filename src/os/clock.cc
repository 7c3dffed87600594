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

}  // namespace dlaunch
