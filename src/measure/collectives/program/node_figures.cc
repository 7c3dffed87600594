#include "measure/collectives/program/node_figures.h"

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "measure/collectives/program/size_walk.h"

namespace dlaunch::collectives {

namespace {

double compute_rate() {
  constexpr double kSeconds = 0.13;
  constexpr int kLanes = 32;
  constexpr int kRounds = 4096;
  std::array<float, kLanes> values{};
  for (int i = 0; i < kLanes; ++i)
    values[static_cast<std::size_t>(i)] = 1.0F + 0.01F * static_cast<float>(i);
  double operations = 0;
  const Clock::time_point start = Clock::now();
  double passed = 0;
  while ((passed = seconds_since(start)) < kSeconds) {
    for (int round = 0; round < kRounds; ++round) {
      for (float& value : values) value = value * 0.999F + 0.001F;
    }
    asm volatile(""
                 :
                 : "r"(values.data())
                 : "memory");  // keeps the result from being optimized away
    operations += 2.0 * kLanes * kRounds;
  }
  return operations / passed / 1e9;
}

double copy_rate() {
  constexpr double kSeconds = 0.06;
  constexpr std::size_t kBytes = std::size_t{16} << 20U;  // exceeds one core's share of most caches
  const std::unique_ptr<char[]> from(new (std::nothrow) char[kBytes]);
  const std::unique_ptr<char[]> to(new (std::nothrow) char[kBytes]);
  if (!from || !to) return 0;
  std::memset(from.get(), 1, kBytes);
  std::memset(to.get(), 2, kBytes);
  double bytes = 0;
  const Clock::time_point start = Clock::now();
  double passed = 0;
  while ((passed = seconds_since(start)) < kSeconds) {
    std::memcpy(to.get(), from.get(), kBytes);
    asm volatile("" : : "r"(to.get()) : "memory");
    bytes += kBytes;
  }
  return bytes / passed / 1e9;
}

}  // namespace

NodeSpeed measure_node(Watchdog& watchdog) {
  NodeSpeed speed;
  speed.gflops = compute_rate();
  watchdog.alive();
  speed.memory_gbs = copy_rate();
  watchdog.alive();
  return speed;
}

}  // namespace dlaunch::collectives
