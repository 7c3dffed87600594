#include "node/reach/reach_door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "os/random.h"
#include "os/reach_socket.h"

namespace dlaunch {

namespace {

/// Further clients wait in the kernel's queue. A stranger who only connects takes a place until the
/// door closes, for a few seconds at most.
constexpr std::size_t kMostClients = 512;

}  // namespace

wire::DoorOpen ReachDoor::open(const wire::OpenDoor& door, ReservedPort* held) {
  close();
  door_ = door;
  held_ = held;
  wire::DoorOpen opened;
  opened.id = door.id;
  opened.errors.assign(door.addresses.size(), held == nullptr ? EBADF : 0);
  if (held == nullptr) return opened;
  const auto add = [&](tl::expected<UniqueFd, int> listener) {
    if (!listener) return listener.error();
    listeners_.push_back(std::make_unique<Acceptor>(
        loop_, std::move(*listener), [this](UniqueFd socket) { accept(std::move(socket)); }));
    return 0;
  };
  if (door.any_address) {
    const int error = add(listen_everywhere(*held));
    listens_everywhere_ = error == 0;
    std::fill(opened.errors.begin(), opened.errors.end(), error);
  } else {
    for (std::size_t i = 0; i < door.addresses.size(); ++i)
      opened.errors[i] = add(listen_beside(*held, door.addresses[i]));
  }
  limit_.after(std::chrono::milliseconds(door.limit_ms), [this] { close(); });
  return opened;
}

void ReachDoor::close() {
  limit_.cancel();
  listeners_.clear();
  if (held_ != nullptr && listens_everywhere_) stop_listening(*held_);
  listens_everywhere_ = false;
  held_ = nullptr;
  for (const auto& client : clients_) {
    if (client->socket.get() >= 0) reset_on_close(client->socket.get());
    client->socket.close();
  }
  clients_.clear();
  is_full_ = false;
}

void ReachDoor::accept(UniqueFd socket) {
  const auto client = std::make_shared<Client>(loop_, std::move(socket));
  clients_.push_back(client);
  receive(client);
  if (clients_.size() < kMostClients) return;
  is_full_ = true;  // until disconnect()
  for (const auto& listener : listeners_) listener->hold();
}

void ReachDoor::receive(const std::shared_ptr<Client>& client) {
  client->socket.on_readable([this, client] {
    std::array<char, 256> bytes;
    const ssize_t n = ::recv(client->socket.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return receive(client);
    if (n <= 0) return disconnect(client);
    client->received.append(bytes.data(), static_cast<std::size_t>(n));
    if (client->answered || client->received.size() > door_.nonce.size()) return disconnect(client);
    if (client->received.size() == door_.nonce.size()) {
      if (!is_same_secret(client->received, door_.nonce)) return disconnect(client);
      answer(*client);
    }
    receive(client);  // the client closes first, so TIME_WAIT is on its side and not on rank 0's
                      // port
  });
}

void ReachDoor::answer(Client& client) {
  client.answered = true;
  // A few bytes always fit into an empty socket buffer.
  const ssize_t sent =
      ::send(client.socket.get(), door_.answer.data(), door_.answer.size(), MSG_NOSIGNAL);
  static_cast<void>(sent);
}

void ReachDoor::disconnect(const std::shared_ptr<Client>& client) {
  // Reset the connection unless the client has closed it first.
  std::array<char, 1> rest;
  const bool has_closed = ::recv(client->socket.get(), rest.data(), rest.size(), MSG_PEEK) == 0;
  if (!has_closed) reset_on_close(client->socket.get());
  client->socket.close();
  std::erase(clients_, client);
  if (!is_full_) return;
  is_full_ = false;
  for (const auto& listener : listeners_) listener->go_on();
}

}  // namespace dlaunch
