#include "launch/keep/keeper_clients.h"

#include <cerrno>
#include <utility>

#include "launch/keep/keeper_socket.h"
#include "os/build_id.h"
#include "os/packet.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr int kPacketsPerTurn = 16;
constexpr std::size_t kMostClients = 256;

}  // namespace

void KeeperClients::let_in(UniqueFd socket) {
  acceptor_ = std::make_unique<Acceptor>(loop_, std::move(socket),
                                         [this](UniqueFd fd) { greet(std::move(fd)); });
}

void KeeperClients::greet(UniqueFd fd) {
  if (!peer_is_our_user(fd.get()) || clients_.size() >= kMostClients) return;
  const ClientId id = ++last_;
  clients_[id] = std::make_unique<Client>(loop_, std::move(fd));
  send(id, keeper_greeting(own_build_id()), {});
  watch(id);
}

void KeeperClients::watch(ClientId id) {
  const auto found = clients_.find(id);
  if (found != clients_.end()) found->second->socket.on_readable([this, id] { read(id); });
}

void KeeperClients::read(ClientId id) {
  std::vector<UniqueFd> none;
  bool ended = false;
  // The agents' heartbeats get their turn between the packets of a client that does not stop.
  for (int k = 0; k < kPacketsPerTurn && clients_.contains(id); ++k) {
    const auto packet = receive_from_keeper(clients_.at(id)->socket.get(), none, ended);
    if (!packet) break;
    none.clear();  // no packet to a keeper carries any
    if (*packet == kGoAway) {
      listener_.on_go_away();
      continue;
    }
    const auto message = wire::decode_variant<ToKeeper>(*packet);
    if (!message) ended = true;
    if (ended) break;
    listener_.on_message(id, *message);
  }
  if (ended) {
    clients_.erase(id);
    return listener_.on_gone(id);
  }
  watch(id);
}

void KeeperClients::say(ClientId client, const FromKeeper& message,
                        std::vector<UniqueFd> descriptors) {
  send(client, wire::encode_value(message), std::move(descriptors));
}

void KeeperClients::send(ClientId id, std::string packet, std::vector<UniqueFd> descriptors) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second->out.push_back({std::move(packet), std::move(descriptors)});
  if (found->second->out.size() == 1) write(id);
}

void KeeperClients::write(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second;
  while (!client.out.empty()) {
    std::vector<int> numbers;
    for (const UniqueFd& fd : client.out.front().descriptors) numbers.push_back(fd.get());
    if (!send_packet(client.socket.get(), client.out.front().packet, numbers)) {
      // If the client has gone, its end of file says so.
      if (errno == EAGAIN) client.socket.on_writable([this, id] { write(id); });
      return;
    }
    client.out.pop_front();
  }
}

}  // namespace dlaunch
