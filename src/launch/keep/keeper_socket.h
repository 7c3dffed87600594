// Where the keepers of a user are found on this machine: sockets (0600) in /tmp/dlaunch-UID, a
// folder that no other user may enter (os/files.h).
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "launch/keep/keep_protocol.h"
#include "model/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// The destructor removes the name.
class KeeperSocket {
 public:
  /// Listens (SOCK_SEQPACKET) under a name that no process looks for. Errors: the folder is another
  /// user's, open to others or a link.
  [[nodiscard]] static Result<KeeperSocket> open();
  KeeperSocket(KeeperSocket&& other) noexcept = default;
  KeeperSocket& operator=(KeeperSocket&&) = delete;
  ~KeeperSocket();

  /// From here on connect_to_keepers() finds this socket. Errors: kInternal.
  [[nodiscard]] Result<void> appear();
  /// Call once.
  [[nodiscard]] UniqueFd take_listener() { return std::move(listener_); }

 private:
  KeeperSocket(UniqueFd folder, std::string name, UniqueFd listener)
      : folder_(std::move(folder)), name_(std::move(name)), listener_(std::move(listener)) {}

  UniqueFd folder_;  // invalid after a move
  std::string name_;
  UniqueFd listener_;
};

/// Waits until no other process holds the lock, and returns it; closing it unlocks. Without the
/// lock, two `dlaunch up` at once would both keep the same node. Calls `waiting` once if it has to
/// wait. Errors: kTimeLimit: another `dlaunch up` did not end within 10 minutes; the folder as in
/// KeeperSocket::open.
[[nodiscard]] Result<UniqueFd> take_turn_to_keep(const std::function<void()>& waiting);

/// Connections to all keepers of this user. Removes the sockets of dead ones. Does not wait. The
/// connection to a stopped keeper succeeds, too, but that keeper does not answer.
[[nodiscard]] std::vector<UniqueFd> connect_to_keepers();

/// A packet of a keeper, with the descriptors of a Lent.
struct KeeperPacket {
  FromKeeper message;
  std::vector<UniqueFd> descriptors;
};

/// One connection to a keeper, for a process that can wait for its answers.
class KeeperLine {
 public:
  explicit KeeperLine(UniqueFd socket) : socket_(std::move(socket)) {}

  /// The keeper's process.
  [[nodiscard]] pid_t pid() const;
  /// The keeper's build; empty: it does not answer within a second.
  [[nodiscard]] std::string build();
  void go_away();
  /// False: the keeper has gone.
  bool say(const ToKeeper& message);
  /// Errors: kNodeLost: the keeper has gone; kTimeLimit.
  [[nodiscard]] Result<KeeperPacket> wait(std::chrono::milliseconds limit);

 private:
  UniqueFd socket_;
};

/// Non-blocking. nullopt: there is no packet; `ended`: no more will arrive.
[[nodiscard]] std::optional<std::string> receive_from_keeper(int socket,
                                                             std::vector<UniqueFd>& descriptors,
                                                             bool& ended);

}  // namespace dlaunch
