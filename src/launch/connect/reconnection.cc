#include "launch/connect/reconnection.h"

#include <algorithm>
#include <utility>

#include "node/session/attach.h"

namespace dlaunch {

namespace {

// An attempt that began while the network was cut waits in TCP's growing pauses (1, 3, 7 s) after
// the network is back; a fresh one gets through. Hosts that need longer to log in get more time
// from the third attempt on.
constexpr Duration kShortTry = std::chrono::seconds(3);
constexpr Duration kLongTry = std::chrono::seconds(8);
constexpr int kShortTries = 2;
constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(1);

}  // namespace

Reconnection::Reconnection(EventLoop& loop, Way way, Callbacks callbacks)
    : way_(std::move(way)), callbacks_(std::move(callbacks)), pause_(loop) {}

void Reconnection::begin() {
  if (trying_) return;
  trying_ = true;
  tries_ == 0 ? try_now() : try_later();
}

void Reconnection::succeeded() {
  tries_ = 0;
  trouble_.clear();
}

void Reconnection::stop() {
  if (!std::exchange(trying_, false)) return;
  pause_.cancel();
  way_.cancel();
}

void Reconnection::try_now() {
  const Duration limit = tries_++ < kShortTries ? kShortTry : kLongTry;
  way_.open([this](Result<Connection> connection) { opened(std::move(connection)); }, limit);
}

void Reconnection::opened(Result<Connection> connection) {
  if (!trying_) return;
  if (connection) {
    trying_ = false;
    return callbacks_.on_made(std::move(*connection));
  }
  trouble_ = connection.error().message;
  if (connection.error().exit_code == kSessionGone) {
    trying_ = false;
    return callbacks_.on_gone(trouble_);
  }
  // Its ranks may still run unseen: their lease and lost_after decide.
  if (connection.error().exit_code == kSessionHidden && callbacks_.on_hidden)
    callbacks_.on_hidden();
  if (!trying_) return;
  try_later();
}

void Reconnection::try_later() {
  const Duration pause = std::min(kFirstPause * (1 << std::min(tries_ - 1, 10)), kLongestPause);
  pause_.after(pause, [this] { try_now(); });
}

}  // namespace dlaunch
