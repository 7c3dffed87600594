// The client of ReachDoor: connects to all addresses of node 0 at once and reports each result.
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

  /// Abandons an earlier knock. Reports every address once, after the message's limit at the
  /// latest, unless stop() comes first.
  void begin(wire::Knock knock);
  void stop();

 private:
  struct Try {
    Try(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::string received;
  };

  void connected(std::uint32_t address);
  void receive(std::uint32_t address);
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
