// The job's stdin on its way to the one rank that wants it.
#pragma once

#include <memory>
#include <string>

#include "os/channel.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// The launcher sends at most kWindow bytes beyond what StdinTaken told it.
inline constexpr std::uint64_t kStdinWindow = 64 * 1024;

class StdinPump {
 public:
  StdinPump(EventLoop& loop, Channel& channel) : loop_(loop), channel_(channel) {}

  /// The pipe to the rank, once it has been started. What an earlier attempt left is dropped.
  void connect(Attempt attempt, UniqueFd write_end);
  void add(const wire::StdinData& data);
  /// The rank has ended: what is left is dropped.
  void close();

 private:
  void begin(Attempt attempt);
  void flush();
  void wait();

  EventLoop& loop_;
  Channel& channel_;
  Attempt attempt_;
  std::unique_ptr<WatchedFd> pipe_;
  std::string waiting_;  // may come before the rank has been started
  bool end_ = false;     // nothing comes after `waiting_`
  std::uint64_t taken_ = 0;
};

}  // namespace dlaunch
