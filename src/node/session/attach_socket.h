// The agent's side of `dlaunch agent --attach`: takes over new connections from its launcher.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "node/session/session_socket.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "wire/frame.h"
#include "wire/message.h"

namespace dlaunch {

/// A connection over which the launcher has sent Resume.
struct NewConnection {
  UniqueFd read;
  UniqueFd write;
  UniqueFd bringer;  // while it is open, the process that brought the connection stays
  wire::Resume resume;
};

/// Lives on the agent's one thread. A connection counts once a complete Resume of this session,
/// with a higher number than any before, has arrived on it. So a connection that a later one has
/// overtaken, or that its launcher has abandoned, replaces nothing.
class AttachSocket {
 public:
  using OnConnection = std::function<void(NewConnection)>;

  AttachSocket(EventLoop& loop, SessionId id, OnConnection on_connection);
  ~AttachSocket();

  /// Starts listening on the abstract socket and in one of the folders. Error: neither worked.
  [[nodiscard]] Status open();
  /// Removes the sockets.
  void close();

 private:
  struct Candidate;

  void keep_files();
  void listen_at(UniqueFd listener);
  void accept(UniqueFd socket);
  void receive_descriptors(Candidate& candidate);
  void read_resume(Candidate& candidate);
  void take(Candidate& candidate, const wire::Frame& frame);
  void drop(Candidate& candidate);

  EventLoop& loop_;
  SessionId id_;
  OnConnection on_connection_;
  SessionSocket socket_;
  std::vector<std::unique_ptr<Acceptor>> listeners_;
  Timer touch_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::uint32_t latest_ = 1;  // the first connection of the session
};

}  // namespace dlaunch
