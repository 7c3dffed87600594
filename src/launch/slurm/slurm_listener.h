// Receives Slurm's signals on the node of the batch script. Slurm sends the notice of a preemption
// (GraceTime), and the signal of a `--signal` without `B:`, to the steps of a job, not to its batch
// script. Agents on other nodes run in steps, but the agent on the script's own node does not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "os/child_process.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Runs one small shell in a Slurm step beside the ranks. Lives on the engine's one thread.
class SlurmListener {
 public:
  /// `heard` is called for each SIGTERM, SIGUSR1 and SIGUSR2.
  SlurmListener(EventLoop& loop, std::function<void(int signal)> heard)
      : loop_(loop), heard_(std::move(heard)), timer_(loop) {}

  /// Call once. The step starts after 2 s, so short runs go without it. Without a step no signals
  /// are received.
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
  std::shared_ptr<ChildProcess> process_;
  std::optional<WatchedFd> input_;  // closing it ends the step
  std::optional<WatchedFd> output_;
  std::string line_;
  bool ended_ = false;
};

}  // namespace dlaunch
