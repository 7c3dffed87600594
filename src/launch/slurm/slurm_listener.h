// Hears Slurm's signals where no step of ours would. Slurm sends the notice of a preemption
// (GraceTime) and `--signal` without B: to the steps of a job and not to its batch script; on
// further nodes the agents are steps, on the script's own node there is none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/connect/ssh_process.h"
#include "os/event_loop.h"

namespace dlaunch {

/// A step of one small shell beside the ranks. Lives on the engine's one thread.
class SlurmListener {
 public:
  /// `heard`: with SIGTERM, SIGUSR1 or SIGUSR2, each time one comes.
  SlurmListener(EventLoop& loop, std::function<void(int signal)> heard)
      : loop_(loop), heard_(std::move(heard)), timer_(loop) {}

  /// Once; the step begins after a while, so that short runs need none. A step that cannot be had
  /// is done without.
  void start(const std::string& node);
  /// The step ends by itself soon after.
  void stop();
  [[nodiscard]] bool has_ended() const { return !process_ || ended_; }

 private:
  void begin(const std::string& node);
  void read_later();
  void read();

  EventLoop& loop_;
  std::function<void(int)> heard_;
  Timer timer_;
  std::shared_ptr<SshProcess> process_;
  std::optional<WatchedFd> input_;  // at its end the step ends
  std::optional<WatchedFd> output_;
  std::string line_;
  bool ended_ = false;
};

}  // namespace dlaunch
