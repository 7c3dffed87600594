#include "measure/collectives/program/pair_speed.h"

#include "measure/collectives/program/size_walk.h"

namespace dlaunch::collectives {

namespace {

constexpr double kLongEnough = 0.008;  // seconds per exchange

class PairSpeed {
 public:
  PairSpeed(Team& team, Watchdog& watchdog, const PairSide& side)
      : world_(team.world()), memory_(team.memory()), watchdog_(watchdog), side_(side) {}

  Result<measure::Exchange> run() {
    watchdog_.begin(side_.what);
    measure::Exchange result{side_.pair};
    word_ = Buffer(memory_, sizeof(double));
    if (word_.data() == nullptr) return no_memory_for_buffers();
    if (Status done = ping(result.latency_us); !done.ok()) return done;
    SizeWalk walk(most_bytes(memory_.is_device()), kLongEnough);
    while (true) {
      double bytes = static_cast<double>(walk.next());
      if (Status done = tell(bytes); !done.ok()) return done;
      if (bytes <= 0) break;
      const auto took = swap(static_cast<std::size_t>(bytes));
      if (!took) return took.status();
      if (side_.leads) walk.took(*took);
    }
    result.gbytes_per_s = walk.best_bytes_per_second() / 1e9;
    return result;
  }

 private:
  /// A few round trips, fewer if each takes long. In each, the leading rank sends whether it is the
  /// last.
  Status ping(double& best_us) {
    constexpr int kWarmup = 3;
    constexpr int kPings = 50;
    constexpr int kFewest = 8;
    constexpr double kLongest = 0.02;
    best_us = 0;
    const Clock::time_point begin = Clock::now();
    for (int i = 1;; ++i) {
      const bool enough =
          i >= kWarmup + kPings || (i >= kFewest && seconds_since(begin) > kLongest);
      double last = enough ? 1 : 0;
      const Clock::time_point start = Clock::now();
      if (Status done = tell(last); !done.ok()) return done;
      if (Status done = side_.leads ? receive() : send(); !done.ok()) return done;
      watchdog_.alive();
      const double us = seconds_since(start) * 1e6 / 2;
      if (i > kWarmup && (best_us <= 0 || us < best_us)) best_us = us;
      if (last > 0) return {};
    }
  }

  Status send() {
    Status done = world_.send(word_.data(), 1, DataType::float64, side_.other);
    return done.ok() ? world_.synchronize() : done;
  }

  Status receive() {
    Status done = world_.receive(word_.data(), 1, DataType::float64, side_.other);
    return done.ok() ? world_.synchronize() : done;
  }

  /// Sends a number from the leading rank to the other.
  Status tell(double& number) {
    if (side_.leads) {
      if (Status done = memory_.copy_in(word_.data(), &number, sizeof number); !done.ok())
        return done;
      return send();
    }
    if (Status done = receive(); !done.ok()) return done;
    return memory_.copy_out(&number, word_.data(), sizeof number);
  }

  /// Exchanges buffers both ways at once; returns seconds.
  Result<double> swap(std::size_t bytes) {
    if (give_.size() < bytes) give_ = Buffer(memory_, bytes);
    if (take_.size() < bytes) take_ = Buffer(memory_, bytes);
    if (give_.data() == nullptr || take_.data() == nullptr) return no_memory_for_buffers();
    const Clock::time_point start = Clock::now();
    Status done = world_.send_receive(give_.data(), side_.other, take_.data(), side_.other, bytes,
                                      DataType::uint8);
    if (done.ok()) done = world_.synchronize();
    if (!done.ok()) return done;
    watchdog_.alive();
    return seconds_since(start);
  }

  Communicator& world_;
  Memory& memory_;
  Watchdog& watchdog_;
  const PairSide& side_;
  Buffer word_;
  Buffer give_;
  Buffer take_;
};

}  // namespace

Status no_memory_for_buffers() {
  return {Code::unavailable, "no memory for buffers"};
}

Result<measure::Exchange> measure_pair(Team& team, Watchdog& watchdog, const PairSide& side) {
  return PairSpeed(team, watchdog, side).run();
}

}  // namespace dlaunch::collectives
