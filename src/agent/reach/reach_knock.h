// The other side of ReachDoor: tries to connect to all addresses of node 0 at once, and reports
// each as soon as it is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/time.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class ReachKnock {
 public:
  using Report = std::function<void(const wire::Knocked&)>;

  ReachKnock(EventLoop& loop, Report report)
      : loop_(loop), report_(std::move(report)), limit_(loop) {}
  ReachKnock(const ReachKnock&) = delete;
  ReachKnock& operator=(const ReachKnock&) = delete;

  /// Gives up what was under way before. Every address is reported once, at the latest after the
  /// message's limit, unless stop() comes first.
  void begin(wire::Knock knock);
  void stop();

 private:
  struct Try {
    Try(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::string heard;
  };

  void connected(std::uint32_t address);
  void hear(std::uint32_t address);
  void ended(std::uint32_t address, int error);
  void give_up();

  EventLoop& loop_;
  Report report_;
  Timer limit_;
  wire::Knock knock_;
  MonotonicTime began_{};
  std::vector<std::unique_ptr<Try>> tries_;  // index as in Knock::addresses; null: reported
};

}  // namespace dlaunch
