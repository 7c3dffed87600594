// Receives Slurm's signals on the node of the batch script. Slurm sends the notice of a preemption
// (GraceTime) and `--signal` without B: to the steps of a job, not to its batch script; agents on
// other nodes run in steps, but the agent on the script's own node does not.
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
  /// `heard` is called for each SIGTERM, SIGUSR1 and SIGUSR2.
  SlurmListener(EventLoop& loop, std::function<void(int signal)> heard)
      : loop_(loop), heard_(std::move(heard)), timer_(loop) {}

  /// Call once. The step starts after 2 s, so short runs need none. Without a step no signals are
  /// received.
  void start(const std::string& node);
  /// The step ends by itself soon afterwards.
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
  std::optional<WatchedFd> input_;  // closing it ends the step
  std::optional<WatchedFd> output_;
  std::string line_;
  bool ended_ = false;
};

}  // namespace dlaunch
