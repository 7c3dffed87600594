// The mode "alone": a single rank, whose all_reduce is a copy within its own memory. It shows that
// the library starts and moves data correctly, and how fast, but says nothing about links.
#include <algorithm>
#include <chrono>
#include <vector>

#include "measure/collectives/program/mode.h"

namespace dlaunch::collectives {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = std::size_t{16} << 20U;  // float32: 64 MiB
constexpr std::size_t kBytes = kCount * sizeof(float);
constexpr int kCalls = 10;
constexpr int kRounds = 5;
constexpr std::size_t kOdd = 8191;  // so that no two pages are equal

class Alone {
 public:
  explicit Alone(Context& context)
      : context_(context),
        world_(context.team.world()),
        memory_(context.team.memory()),
        send_(memory_, kBytes),
        receive_(memory_, kBytes) {}

  Status run() {
    if (world_.size() != 1) return {Code::invalid_argument, "alone: there must be a single rank"};
    if (send_.data() == nullptr || receive_.data() == nullptr)
      return {Code::unavailable, "not enough memory for two buffers of 64 MiB"};
    context_.watchdog.begin("an all_reduce of one rank");
    Status done = compare();
    if (done.ok()) done = time();
    if (!done.ok()) return done;
    measure::Record record("alone");
    record.set("bytes", static_cast<double>(kBytes)).set("wrong", static_cast<double>(wrong_));
    write(context_, record.set("gbytes_per_s", best_));
    return {};
  }

 private:
  Status call() {
    return world_.all_reduce(send_.data(), receive_.data(), kCount, DataType::float32,
                             ReduceOp::sum);
  }

  Status compare() {
    std::vector<float> given(kCount);
    for (std::size_t i = 0; i < kCount; ++i) given[i] = static_cast<float>(i % kOdd) + 1;
    std::vector<float> got(kCount, 0);
    Status done = memory_.copy_in(receive_.data(), got.data(), kBytes);
    if (done.ok()) done = memory_.copy_in(send_.data(), given.data(), kBytes);
    if (done.ok()) done = call();
    if (done.ok()) done = world_.synchronize();
    if (done.ok()) done = memory_.copy_out(got.data(), receive_.data(), kBytes);
    for (std::size_t i = 0; i < kCount; ++i) wrong_ += got[i] == given[i] ? 0 : 1;
    return done;
  }

  /// 10^9 bytes/s, read and written, in the best round.
  Status time() {
    constexpr double kBillion = 1e9;
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < kCalls; ++i) {
        if (Status done = call(); !done.ok()) return done;
      }
      if (Status done = world_.synchronize(); !done.ok()) return done;
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      best_ = std::max(best_, 2.0 * kBytes * kCalls / seconds / kBillion);
    }
    return {};
  }

  Context& context_;
  Communicator& world_;
  Memory& memory_;
  Buffer send_;
  Buffer receive_;
  std::size_t wrong_ = 0;
  double best_ = 0;
};

}  // namespace

Status alone_mode(Context& context) {
  return Alone(context).run();
}

}  // namespace dlaunch::collectives
