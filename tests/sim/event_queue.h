// Virtual time: what is to happen, in the order of its times; at equal times, as it was scheduled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "model/time.h"

namespace dlaunch::sim {

class EventQueue {
 public:
  [[nodiscard]] MonotonicTime now() const { return now_; }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] MonotonicTime next() const { return queue_.top().at; }

  void schedule(MonotonicTime at, std::function<void()> what) {
    queue_.push({std::max(at, now_), next_order_++, std::move(what)});
  }
  /// The next one happens. Late, where the time has moved on.
  void run_next() {
    std::function<void()> what = queue_.top().what;
    now_ = std::max(now_, queue_.top().at);
    queue_.pop();
    what();
  }
  void move_to(MonotonicTime now) { now_ = std::max(now_, now); }

 private:
  struct Item {
    MonotonicTime at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Item& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };
  std::priority_queue<Item> queue_;
  std::uint64_t next_order_ = 0;
  MonotonicTime now_{};
};

}  // namespace dlaunch::sim
