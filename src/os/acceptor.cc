#include "os/acceptor.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kPause{100};

/// Errors of accept(2) after which the connection stays in the queue.
bool is_lack_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

bool peer_is_our_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

pid_t peer_process(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

Acceptor::Acceptor(EventLoop& loop, UniqueFd listener, OnConnection on_connection)
    : listener_(loop, std::move(listener)), pause_(loop), on_connection_(std::move(on_connection)) {
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
  if (!socket && is_lack_of_resources(errno)) return pause_.after(kPause, [this] { wait(); });
  if (socket) on_connection_(std::move(socket));
  wait();
}

}  // namespace dlaunch
