// The one-shot listener of node 0: other nodes knock at it before ranks start, to find out at which
// of its addresses they reach it. It is the only listening socket of dlaunch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/ports.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class ReachDoor {
 public:
  explicit ReachDoor(EventLoop& loop) : loop_(loop), limit_(loop) {}
  ~ReachDoor() { close(); }
  ReachDoor(const ReachDoor&) = delete;
  ReachDoor& operator=(const ReachDoor&) = delete;

  /// Listens on `held`, which must live until close(); null: the port is none of ours. Closes what
  /// was open before. It closes by itself after the message's limit.
  wire::DoorOpen open(const wire::OpenDoor& door, ReservedPort* held);
  /// From now on nobody is let in; connections that are open are reset.
  void close();
  [[nodiscard]] bool is_open() const { return !listeners_.empty(); }

 private:
  struct Guest {
    Guest(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::string said;
    bool answered = false;
  };

  void let_in(UniqueFd socket);
  void hear(const std::shared_ptr<Guest>& guest);
  void answer(Guest& guest);
  void show_out(const std::shared_ptr<Guest>& guest);

  EventLoop& loop_;
  Timer limit_;
  ReservedPort* held_ = nullptr;
  bool listens_everywhere_ = false;
  wire::OpenDoor door_;
  std::vector<std::unique_ptr<Acceptor>> listeners_;
  std::vector<std::shared_ptr<Guest>> guests_;
  bool is_full_ = false;
};

}  // namespace dlaunch
