// The temporary listener of node 0 to which other nodes connect before ranks start, to find out at
// which addresses they can reach node 0. Besides it, only node/stage/stage_door.h and
// node/reach/program_door.h listen on TCP sockets that other machines can reach.
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

  /// Listens on `held`, which must live until close(); null: the port is not reserved. First closes
  /// what was open before. Closes by itself after the message's limit.
  wire::DoorOpen open(const wire::OpenDoor& door, ReservedPort* held);
  /// Stops listening and resets open connections.
  void close();
  [[nodiscard]] bool is_open() const { return !listeners_.empty(); }

 private:
  struct Client {
    Client(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::string received;
    bool answered = false;
  };

  void accept(UniqueFd socket);
  void receive(const std::shared_ptr<Client>& client);
  void answer(Client& client);
  void disconnect(const std::shared_ptr<Client>& client);

  EventLoop& loop_;
  Timer limit_;
  ReservedPort* held_ = nullptr;
  bool listens_everywhere_ = false;
  wire::OpenDoor door_;
  std::vector<std::unique_ptr<Acceptor>> listeners_;
  std::vector<std::shared_ptr<Client>> clients_;
  bool is_full_ = false;
};

}  // namespace dlaunch
