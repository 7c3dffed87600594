#include "node/reach/reach_knock.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

#include "fabric/net.h"
#include "os/clock.h"
#include "os/reach_socket.h"

namespace dlaunch {

void ReachKnock::begin(wire::Knock knock) {
  stop();
  knock_ = std::move(knock);
  began_ = monotonic_now();
  tries_.resize(knock_.addresses.size());
  for (std::uint32_t i = 0; i < tries_.size(); ++i) {
    auto socket = begin_connect(knock_.addresses[i], knock_.port);
    if (!socket) {
      ended(i, socket.error());
      continue;
    }
    tries_[i] = std::make_unique<Try>(loop_, std::move(*socket));
    tries_[i]->socket.on_writable([this, i] { connected(i); });
  }
  limit_.after(std::chrono::milliseconds(knock_.limit_ms), [this] { give_up(); });
}

void ReachKnock::stop() {
  limit_.cancel();
  for (const auto& one : tries_) {
    if (one) one->socket.close();
  }
  tries_.clear();
}

void ReachKnock::connected(std::uint32_t address) {
  const int socket = tries_[address]->socket.get();
  if (const int error = connect_error(socket); error != 0) return ended(address, error);
  const ssize_t sent = ::send(socket, knock_.nonce.data(), knock_.nonce.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(knock_.nonce.size())) return ended(address, errno);
  receive(address);
}

void ReachKnock::receive(std::uint32_t address) {
  tries_[address]->socket.on_readable([this, address] {
    Try& one = *tries_[address];
    std::array<char, 256> bytes;
    const ssize_t n = ::recv(one.socket.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return receive(address);
    if (n < 0) return ended(address, errno);
    if (n > 0) one.received.append(bytes.data(), static_cast<std::size_t>(n));
    if (n > 0 && one.received.size() < knock_.answer.size()) return receive(address);
    ended(address, one.received == knock_.answer ? 0 : EPROTO);
  });
}

void ReachKnock::ended(std::uint32_t address, int error) {
  wire::Knocked knocked;
  knocked.id = knock_.id;
  wire::Knocked::One& result = knocked.results.emplace_back();
  result.address = address;
  result.error = std::clamp(error, 0, 4095);
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now() - began_).count();
  result.round_trip_us = static_cast<std::uint32_t>(
      std::min<std::int64_t>(micros, std::numeric_limits<std::uint32_t>::max()));
  if (tries_[address]) {
    if (error == 0) {
      result.local_address = local_address_of(tries_[address]->socket.get());
      result.interface = fabric::interface_of(result.local_address, fabric::read_address_rows());
    }
    tries_[address]->socket.close();
    tries_[address].reset();
  }
  report_(knocked);
}

void ReachKnock::give_up() {
  for (std::uint32_t i = 0; i < tries_.size(); ++i) {
    if (tries_[i]) ended(i, ETIMEDOUT);
  }
}

}  // namespace dlaunch
