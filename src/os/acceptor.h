// Accepts connections from a listening socket. When the process has no descriptor left for a
// connection, the listening socket stays readable, so the next try comes after a pause.
#pragma once

#include <functional>

#include <sys/types.h>

#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Whether the peer of a unix socket has our user id, as this user namespace sees it (unix(7),
/// SO_PEERCRED: the process that called connect(2) or listen(2)).
[[nodiscard]] bool peer_is_our_user(int socket);
/// The pid of the peer process in our PID namespace; 0: unknown, or the process is outside it.
[[nodiscard]] pid_t peer_process(int socket);

/// For use on the loop's thread only.
class Acceptor {
 public:
  using OnConnection = std::function<void(UniqueFd)>;

  /// Begins at once; each connection is O_NONBLOCK and close-on-exec. With an invalid `listener`,
  /// or one that the loop cannot watch, listens() is false.
  Acceptor(EventLoop& loop, UniqueFd listener, OnConnection on_connection);

  [[nodiscard]] bool listens() const { return listener_.get() >= 0; }
  /// Accepts no more until go_on().
  void hold() { held_ = true; }
  void go_on();

 private:
  void wait();
  void take();

  WatchedFd listener_;
  Timer pause_;
  OnConnection on_connection_;
  bool held_ = false;
  bool waiting_ = false;
};

}  // namespace dlaunch
