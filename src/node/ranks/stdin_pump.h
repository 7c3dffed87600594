// Forwards the job's stdin to the one rank that reads it.
#pragma once

#include <memory>
#include <string>

#include "os/channel.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// The launcher sends at most this many bytes beyond what StdinTaken has confirmed.
inline constexpr std::uint64_t kStdinWindow = 64 * 1024;

class StdinPump {
 public:
  StdinPump(EventLoop& loop, AgentChannel& channel) : loop_(loop), channel_(channel) {}

  /// Takes the pipe to the rank, which has started. Drops what an earlier attempt has left.
  /// `is_terminal`: the pipe is a terminal's master; then Ctrl-D marks the end of the input.
  void connect(Attempt attempt, UniqueFd write_end, bool is_terminal = false);
  void add(const wire::StdinData& data);
  /// Call when the rank has ended: drops what is left.
  void close();

 private:
  void begin(Attempt attempt);
  void flush();
  void wait();

  EventLoop& loop_;
  AgentChannel& channel_;
  Attempt attempt_;
  std::unique_ptr<WatchedFd> pipe_;
  std::string waiting_;  // may arrive before the rank starts
  bool end_ = false;     // nothing follows `waiting_`
  bool is_terminal_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace dlaunch
