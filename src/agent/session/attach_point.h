// The agent's side of `dlaunch agent --attach`: listens on the session's socket for connections
// that a launcher has made anew.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/session/session_place.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "wire/frame.h"
#include "wire/message.h"

namespace dlaunch {

/// A connection whose launcher has said Resume.
struct NewConnection {
  UniqueFd read;
  UniqueFd write;
  UniqueFd keeper;  // as long as it is open, the process that brought the others stays
  wire::Resume resume;
};

/// Lives on the agent's one thread. A connection counts once a whole Resume of this session has
/// come over it, with a higher number than any before: one that was overtaken by a later one on its
/// way here, or whose launcher has given it up, replaces nothing.
class AttachPoint {
 public:
  using Arrived = std::function<void(NewConnection)>;

  AttachPoint(EventLoop& loop, SessionId id, Arrived arrived);
  ~AttachPoint();

  /// Begins to listen, in one of the folders and without one. The error says why no connection
  /// could ever come.
  [[nodiscard]] Status open();
  /// Takes the sockets away.
  void close();

 private:
  struct Candidate;

  void keep_places();
  void listen_at(UniqueFd listener);
  void let_in(UniqueFd socket);
  void receive_descriptors(Candidate& candidate);
  void read_resume(Candidate& candidate);
  void take(Candidate& candidate, const wire::Frame& frame);
  void drop(Candidate& candidate);

  EventLoop& loop_;
  SessionId id_;
  Arrived arrived_;
  SessionSocket socket_;
  std::vector<std::unique_ptr<Acceptor>> listeners_;
  Timer touch_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::uint32_t latest_ = 1;  // the first connection of the session
};

}  // namespace dlaunch
