#include "compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace {

constexpr double kBlock =
    0.001;  // seconds; enough for many small calls, but shorter than a machine's disturbances
constexpr int kMostCalls = 1 << 16;
constexpr int kLookEvery = 10;  // rounds
constexpr int kWarm = 2;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How long the block takes on this rank, in seconds.
double timed(Group& group, const Block& block, int calls) {
  group.meet();
  const double start = now();
  block(calls);
  return now() - start;
}

double slowest(Group& group, double seconds) {
  std::vector<double> one{seconds};
  group.largest(one);
  return one.front();
}

/// The number of calls that makes a block long enough to be timed.
int calls_of(Group& group, const Block& block) {
  int calls = 1;
  while (calls < kMostCalls) {
    const double taken = slowest(group, timed(group, block, calls));
    if (taken >= kBlock) break;
    calls = taken < kBlock / 4 ? calls * 4 : calls * 2;
  }
  return std::min(calls, kMostCalls);
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Interval interval_of(std::vector<double> values) {
  constexpr double kNormal = 1.96;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const double k = std::floor((n - kNormal * std::sqrt(n)) / 2);
  const auto at = static_cast<std::size_t>(std::max(k, 1.0)) - 1;
  return {median_of(values), values[at], values[values.size() - 1 - at]};
}

Comparison compare(Group& group, const Limits& limits, const Block& ours, const Block& plain) {
  ours(kWarm);
  plain(kWarm);
  Comparison result;
  result.calls = calls_of(group, plain);
  std::vector<double> logs;
  std::vector<double> times_of_ours;
  std::vector<double> times_of_plain;
  double spent = 0;
  while (true) {
    const bool turned = result.rounds % 2 != 0;
    const Block& outer = turned ? plain : ours;
    const Block& inner = turned ? ours : plain;
    std::vector<double> times;
    for (const Block* block : {&outer, &inner, &inner, &outer})
      times.push_back(timed(group, *block, result.calls));
    group.largest(times);
    double of_ours = times[0] + times[3];
    double of_plain = times[1] + times[2];
    spent += of_ours + of_plain;
    if (turned) std::swap(of_ours, of_plain);
    logs.push_back(std::log(of_ours / of_plain));
    times_of_ours.push_back(of_ours / 2 / result.calls);
    times_of_plain.push_back(of_plain / 2 / result.calls);
    ++result.rounds;
    const bool is_late = spent >= limits.seconds && result.rounds >= 6;
    if (!is_late && (result.rounds < limits.least || result.rounds % kLookEvery != 0)) continue;
    const Interval interval = interval_of(logs);
    result.low = std::exp(interval.low);
    result.high = std::exp(interval.high);
    if (!is_late && (result.high - result.low) / 2 > limits.half_width) continue;
    result.ratio = std::exp(interval.median);
    result.ours = median_of(times_of_ours);
    result.plain = median_of(times_of_plain);
    return result;
  }
}
