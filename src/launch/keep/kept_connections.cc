#include "launch/keep/kept_connections.h"

#include <algorithm>
#include <utility>

#include "os/build_id.h"
#include "os/packet.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

// An agent that is idle is free within milliseconds.
constexpr std::chrono::seconds kLimit{1};
constexpr std::size_t kKeysInPacket = 64;
constexpr std::size_t kDescriptors = 2;

}  // namespace

void KeptConnections::ask(const std::string& run, const std::map<NodeId, std::string>& keys,
                          const std::string& unusable) {
  if (keys.empty()) return;
  run_ = run;
  use_.unusable = unusable;
  for (UniqueFd& socket : connect_to_keepers())
    keepers_.push_back(std::make_unique<Keeper>(loop_, std::move(socket)));
  if (keepers_.empty()) return;
  for (const auto& [node, key] : keys) {
    order_.push_back(node);
    keys_.push_back(key);
    wanted_[node];
  }
  use_.wanted = order_.size();
  for (std::size_t i = 0; i < keepers_.size(); ++i) {
    for (std::uint32_t number = 0; number < order_.size(); ++number)
      keepers_[i]->pending.insert(number);
    watch(i);
  }
  limit_.after(kLimit, [this] { settle_all(); });
}

void KeptConnections::watch(std::size_t keeper) {
  keepers_[keeper]->socket.on_readable([this, keeper] { read(keeper); });
}

void KeptConnections::read(std::size_t keeper) {
  Keeper& from = *keepers_[keeper];
  bool ended = false;
  while (!ended) {
    std::vector<UniqueFd> descriptors;
    const auto packet = receive_from_keeper(from.socket.get(), descriptors, ended);
    if (!packet) break;
    from.is_greeted ? hear(keeper, *packet, std::move(descriptors)) : greet(keeper, *packet);
  }
  if (ended) return no_more_from(keeper);
  watch(keeper);
}

void KeptConnections::greet(std::size_t keeper, const std::string& packet) {
  Keeper& to = *keepers_[keeper];
  to.is_greeted = true;
  const auto build = read_keeper_greeting(packet);
  if (build && *build != own_build_id()) {
    send_packet(to.socket.get(), std::string(kGoAway));
    use_.is_other_build = true;
  }
  if (!build || *build != own_build_id()) return no_more_from(keeper);
  for (std::size_t i = 0; i < keys_.size(); i += kKeysInPacket) {
    WantNodes wanted;
    wanted.run = run_;
    wanted.lends = use_.unusable.empty();
    wanted.first = static_cast<std::uint32_t>(i);
    wanted.keys.assign(
        keys_.begin() + static_cast<std::ptrdiff_t>(i),
        keys_.begin() + static_cast<std::ptrdiff_t>(std::min(i + kKeysInPacket, keys_.size())));
    // If the socket cannot take all keys at once, the run itself connects to the remaining nodes.
    if (!send_packet(to.socket.get(), wire::encode_value(ToKeeper(std::move(wanted)))))
      for (std::size_t k = i; k < keys_.size(); ++k)
        answered(keeper, static_cast<std::uint32_t>(k));
  }
}

void KeptConnections::hear(std::size_t keeper, const std::string& packet,
                           std::vector<UniqueFd> descriptors) {
  const auto message = wire::decode_variant<FromKeeper>(packet);
  if (!message) return no_more_from(keeper);
  if (const auto* one = std::get_if<Lent>(&*message)) {
    lent(keeper, one->number, std::move(descriptors));
  } else if (const auto* none = std::get_if<NotLent>(&*message)) {
    if (none->is_known) refused_[none->number] = none->why;
    answered(keeper, none->number);
  }
}

void KeptConnections::lent(std::size_t keeper, std::uint32_t number,
                           std::vector<UniqueFd> descriptors) {
  if (number >= order_.size() || descriptors.size() != kDescriptors) return;
  const NodeId node = order_[number];
  const auto wanted = wanted_.find(node);
  // Too late, or another keeper was faster: this agent still waits for a Hello.
  if (wanted == wanted_.end() || wanted->second.is_settled || wanted->second.got) {
    send_packet(keepers_[keeper]->socket.get(), wire::encode_value(ToKeeper(GiveBack{number})));
    return answered(keeper, number);
  }
  Connection connection;
  connection.read = std::move(descriptors[0]);
  connection.write = std::move(descriptors[1]);
  connection.remote = true;
  wanted->second.got = std::move(connection);
  lent_[node] = keeper;
  answered(keeper, number);
}

void KeptConnections::answered(std::size_t keeper, std::uint32_t number) {
  keepers_[keeper]->pending.erase(number);
  const bool is_awaited = std::any_of(keepers_.begin(), keepers_.end(), [number](const auto& one) {
    return one->pending.contains(number);
  });
  if (number >= order_.size()) return;
  const auto wanted = wanted_.find(order_[number]);
  if (wanted == wanted_.end() || wanted->second.is_settled) return;
  if (is_awaited && !wanted->second.got) return;
  wanted->second.is_settled = true;
  give(order_[number]);
  tell_once();
}

void KeptConnections::no_more_from(std::size_t keeper) {
  if (std::exchange(keepers_[keeper]->is_over, true)) return;
  for (const std::uint32_t number : std::set<std::uint32_t>(keepers_[keeper]->pending))
    answered(keeper, number);
}

void KeptConnections::settle_all() {
  for (std::size_t i = 0; i < keepers_.size(); ++i) {
    if (!keepers_[i]->pending.empty())
      refused_.emplace(*keepers_[i]->pending.begin(), "a keeper does not answer");
    no_more_from(i);
  }
}

void KeptConnections::take(NodeId node, Taken done) {
  wanted_.at(node).done = std::move(done);
  loop_.post([this, living = std::weak_ptr<bool>(alive_), node] {
    if (!living.expired()) give(node);
  });
}

void KeptConnections::give(NodeId node) {
  const auto found = wanted_.find(node);
  if (found == wanted_.end() || !found->second.is_settled || !found->second.done) return;
  Wanted mine = std::move(found->second);
  wanted_.erase(found);
  mine.done(std::move(mine.got));
}

void KeptConnections::give_back(NodeId node) {
  const auto keeper = lent_.find(node);
  const auto number = std::find(order_.begin(), order_.end(), node) - order_.begin();
  if (keeper == lent_.end()) return;
  send_packet(keepers_[keeper->second]->socket.get(),
              wire::encode_value(ToKeeper(GiveBack{static_cast<std::uint32_t>(number)})));
  lent_.erase(keeper);
}

void KeptConnections::tell_once() {
  const bool is_pending = std::any_of(keepers_.begin(), keepers_.end(),
                                      [](const auto& one) { return !one->pending.empty(); });
  if (is_pending || std::exchange(is_told_, true)) return;
  limit_.cancel();
  use_.lent = lent_.size();
  for (const auto& [number, why] : refused_) {
    if (number < order_.size() && !lent_.contains(order_[number])) use_.refused.push_back(why);
  }
  if (std::string text = kept_use_text(use_); !text.empty()) told_(std::move(text));
}

}  // namespace dlaunch
