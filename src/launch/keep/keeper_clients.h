// A keeper's connections to other processes of its user: runs, `dlaunch up` and `dlaunch down`.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/keep/keep_protocol.h"
#include "launch/keep/kept_nodes.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the loop's one thread.
class KeeperClients {
 public:
  struct Listener {
    std::function<void(ClientId, const ToKeeper&)> on_message;
    std::function<void()> on_go_away;  // another build takes over
    std::function<void(ClientId)> on_gone;
  };

  KeeperClients(EventLoop& loop, Listener listener) : loop_(loop), listener_(std::move(listener)) {}

  /// From here on, lets in processes of our user, at most 256 at a time.
  void let_in(UniqueFd socket);
  void let_in_no_more() { acceptor_.reset(); }
  /// Nothing happens if the client has gone.
  void say(ClientId client, const FromKeeper& message, std::vector<UniqueFd> descriptors);

 private:
  struct Outgoing {
    std::string packet;
    std::vector<UniqueFd> descriptors;
  };
  struct Client {
    Client(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::deque<Outgoing> out;
  };

  void greet(UniqueFd fd);
  void watch(ClientId id);
  void read(ClientId id);
  void send(ClientId id, std::string packet, std::vector<UniqueFd> descriptors);
  void write(ClientId id);

  EventLoop& loop_;
  const Listener listener_;
  std::unique_ptr<Acceptor> acceptor_;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
  ClientId last_ = 0;
};

}  // namespace dlaunch
