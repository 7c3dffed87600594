#include "os/acceptor.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kPause{100};

/// accept(2): the connection stays in the queue.
bool is_for_want_of_something(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

bool peer_is_our_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

Acceptor::Acceptor(EventLoop& loop, UniqueFd listener, Came came)
    : listener_(loop, std::move(listener)), pause_(loop), came_(std::move(came)) {
  wait();
}

void Acceptor::go_on() {
  held_ = false;
  wait();
}

void Acceptor::wait() {
  if (std::exchange(waiting_, true)) return;
  listener_.on_readable([this] { take(); });
}

void Acceptor::take() {
  waiting_ = false;
  if (held_) return;
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket && is_for_want_of_something(errno)) return pause_.after(kPause, [this] { wait(); });
  if (socket) came_(std::move(socket));
  wait();
}

}  // namespace dlaunch
