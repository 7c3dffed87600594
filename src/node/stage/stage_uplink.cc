#include "node/stage/stage_uplink.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "model/ip_address.h"
#include "model/result.h"
#include "node/stage/stage_door.h"
#include "os/reach_socket.h"

namespace dlaunch {

namespace {

constexpr std::size_t kReceive = std::size_t{256} << 10;

}  // namespace

StageUplink::StageUplink(EventLoop& loop, const wire::StageFeed& order, std::uint64_t position,
                         Callbacks callbacks)
    : loop_(loop),
      key_(order.key),
      position_(position),
      callbacks_(std::move(callbacks)),
      limit_(loop) {
  limit_.after(std::chrono::milliseconds(order.limit_ms),
               [this] { end(problem_.empty() ? "no answer" : problem_); });
  for (const StageAddress& at : order.at) {
    auto socket = begin_connect(at.address, at.port);
    if (!socket) {
      problem_ = host_and_port(at.address, at.port) + ": " + errno_text(socket.error());
      continue;
    }
    const auto one = std::make_shared<Try>(loop_, std::move(*socket), key_);
    one->address = host_and_port(at.address, at.port);
    tries_.push_back(one);
    one->socket.on_writable([this, one] { greet(one); });
  }
  // Later, because callbacks must not be called from the constructor.
  if (tries_.empty()) limit_.after(std::chrono::nanoseconds(0), [this] { end(problem_); });
}

void StageUplink::greet(const std::shared_ptr<Try>& one) {
  if (const int error = connect_error(one->socket.get()); error != 0)
    return give_up(one, errno_text(error));
  // These few bytes always fit into an empty socket buffer.
  const std::string greeting = stage_greeting(key_, position_);
  const ssize_t n = ::send(one->socket.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
  if (n != static_cast<ssize_t>(greeting.size())) return give_up(one, errno_text(errno));
  wait(one);
}

void StageUplink::wait(const std::shared_ptr<Try>& one) {
  one->socket.on_readable([this, one] { receive(one); });
}

void StageUplink::receive(const std::shared_ptr<Try>& one) {
  received_.resize(kReceive);
  const ssize_t n = ::recv(one->socket.get(), received_.data(), received_.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return wait(one);
  if (n < 0) return give_up(one, errno_text(errno));
  if (n == 0) return give_up(one, "it closed the connection");
  one->receiver.feed({received_.data(), static_cast<std::size_t>(n)});
  if (!take(one)) return;
  holds_ = !callbacks_.has_room();
  if (!holds_) wait(one);
}

/// False: this object may have been destroyed.
bool StageUplink::take(const std::shared_ptr<Try>& one) {
  std::string frame;
  for (;;) {
    const auto outcome = one->receiver.next(frame);
    if (outcome == SealedReceiver::Outcome::more) return true;
    const auto pieces =
        outcome == SealedReceiver::Outcome::frame ? sync::read_pieces(frame) : std::nullopt;
    if (!pieces) {
      give_up(one, "it sent damaged data");
      return false;
    }
    if (!std::exchange(one->answered, true)) {
      limit_.cancel();
      for (const auto& other : tries_) {
        if (other != one) other->socket.close();
      }
      tries_ = {one};
      callbacks_.connected();
    }
    if (!pieces->empty()) callbacks_.pieces(*pieces);
  }
}

void StageUplink::go_on() {
  if (!std::exchange(holds_, false) || tries_.empty()) return;
  wait(tries_.front());
}

void StageUplink::give_up(const std::shared_ptr<Try>& one, const std::string& why) {
  // The caller's reference may be to the element that is erased.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::shared_ptr<Try> kept = one;
  problem_ = kept->address + ": " + why;
  kept->socket.close();
  std::erase(tries_, kept);
  if (tries_.empty()) end(problem_);
}

void StageUplink::close() {
  limit_.cancel();
  for (const auto& one : tries_) one->socket.close();
  tries_.clear();
}

void StageUplink::end(std::string why) {
  close();
  const auto ended = callbacks_.ended;
  ended(std::move(why));
}

}  // namespace dlaunch
