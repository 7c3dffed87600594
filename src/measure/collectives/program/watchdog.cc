#include "measure/collectives/program/watchdog.h"

#include <utility>

#include <unistd.h>

namespace dlaunch::collectives {

namespace {

constexpr int kRounds = 4;       // checks within the limit
constexpr int kTimeLimit = 124;  // dlaunch's exit code for a time limit

}  // namespace

void say(const std::string& line) {
  const std::string text = "dlaunch collectives: " + line + '\n';
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

Watchdog::Watchdog(std::chrono::milliseconds limit) : limit_(limit) {
  if (limit_.count() > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::begin(std::string what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  what_ = std::move(what);
  paused_ = false;
  alive();
}

void Watchdog::pause() {
  const std::lock_guard<std::mutex> lock(mutex_);
  paused_ = true;
}

void Watchdog::watch() {
  unsigned seen = beats_;
  int still = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, limit_ / kRounds, [this] { return over_; })) {
    const unsigned now = beats_.load(std::memory_order_relaxed);
    still = now == seen && !paused_ ? still + 1 : 0;
    seen = now;
    if (still <= kRounds) continue;
    say(what_ + " did not end within " + std::to_string(limit_.count() / 1000) +
        " s: another rank is late, stuck or dead");
    ::_exit(kTimeLimit);
  }
}

}  // namespace dlaunch::collectives
