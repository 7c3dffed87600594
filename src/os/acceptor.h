// Takes connections from a listening socket. A process that has no descriptor left for one cannot
// take it, and the socket stays readable: it is looked at again after a pause, not at once.
#pragma once

#include <functional>

#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Whether who is at the other end of a unix socket is our own user, as far as this user namespace
/// can tell (unix(7), SO_PEERCRED: who called connect(2) or listen(2)).
[[nodiscard]] bool peer_is_our_user(int socket);

/// Lives on the loop's one thread.
class Acceptor {
 public:
  using Came = std::function<void(UniqueFd)>;

  /// Begins at once; each connection is O_NONBLOCK and close-on-exec. An invalid `listener`, or one
  /// that the loop cannot watch: listens() is false, and nobody ever comes.
  Acceptor(EventLoop& loop, UniqueFd listener, Came came);

  [[nodiscard]] bool listens() const { return listener_.get() >= 0; }
  /// No more until go_on().
  void hold() { held_ = true; }
  void go_on();

 private:
  void wait();
  void take();

  WatchedFd listener_;
  Timer pause_;
  Came came_;
  bool held_ = false;
  bool waiting_ = false;
};

}  // namespace dlaunch
