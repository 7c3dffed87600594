#include "plan/candidates.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "model/environment.h"
#include "model/ip_address.h"

namespace dlaunch {

namespace {

/// The parsed value of `rendezvous.interface`.
class InterfaceChoice {
 public:
  explicit InterfaceChoice(std::string_view text);

  [[nodiscard]] bool is_auto() const { return words_.empty(); }
  [[nodiscard]] bool allows(const std::string& name, const IpAddress& address) const;

 private:
  std::vector<std::string> words_;
  bool excludes_ = false;
};

/// How suitable an address is for training traffic, best first.
enum class AddressClass { network, tunnel, inner_bridge, link_local };

struct UsableAddress {
  const NetworkInterface* interface = nullptr;
  IpAddress ip;
  int prefix = 0;
  AddressClass rank = AddressClass::network;
};

using Kind = NetworkInterface::Kind;

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Whether an outside interface is part of the bridge.
bool has_outer_port(const NodeFacts& facts, const NetworkInterface& bridge) {
  return std::any_of(facts.interfaces.begin(), facts.interfaces.end(),
                     [&](const NetworkInterface& port) {
                       return port.master == bridge.name &&
                              (port.kind == Kind::physical || port.kind == Kind::bond ||
                               port.kind == Kind::vlan || port.kind == Kind::infiniband);
                     });
}

AddressClass class_of(const NodeFacts& facts, const NetworkInterface& interface,
                      const IpAddress& ip) {
  if (is_link_local(ip)) return AddressClass::link_local;
  if (interface.kind == Kind::tunnel) return AddressClass::tunnel;
  if (interface.kind == Kind::bridge && !has_outer_port(facts, interface))
    return AddressClass::inner_bridge;
  return AddressClass::network;
}

InterfaceChoice::InterfaceChoice(std::string_view text) {
  if (text.empty() || text == "auto") return;
  excludes_ = text.front() == '^';
  if (excludes_) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words_.emplace_back(word);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
}

bool InterfaceChoice::allows(const std::string& name, const IpAddress& address) const {
  if (is_auto()) return true;
  const bool listed = std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
    const auto network = parse_network(word);
    return network ? in_same_network(network->address, address, network->prefix)
                   : matches_pattern(word, name);
  });
  return listed != excludes_;
}

/// In the order of the facts.
std::vector<UsableAddress> usable_addresses(const NodeFacts& facts, const InterfaceChoice& choice) {
  std::vector<UsableAddress> usable;
  for (const NetworkInterface& interface : facts.interfaces) {
    if (!interface.is_up || interface.kind == Kind::loopback) continue;
    // An explicitly named interface is always accepted.
    if (choice.is_auto() && is_host_internal(interface.name)) continue;
    for (const InterfaceAddress& address : interface.addresses) {
      const auto ip = parse_ip(address.text);
      if (!ip || !is_unicast(*ip) || is_loopback(*ip) || (ip->is_ipv6 && is_link_local(*ip)))
        continue;
      if (!choice.allows(interface.name, *ip)) continue;
      usable.push_back({&interface, *ip, address.prefix, class_of(facts, interface, *ip)});
    }
  }
  return usable;
}

/// "eth0 (10.0.0.4, down), docker0 (172.17.0.1)": the interfaces of the node, for messages.
std::string interface_list(const NodeFacts& facts) {
  std::string text;
  for (const NetworkInterface& interface : facts.interfaces) {
    if (interface.kind == Kind::loopback || interface.addresses.empty()) continue;
    text += (text.empty() ? "" : ", ") + interface.name + " (" + interface.addresses.front().text +
            (interface.is_up ? ")" : ", down)");
  }
  return text.empty() ? "no interface but loopback" : text;
}

/// "both nodes", "all 4 nodes".
std::string all_nodes(std::size_t nodes) {
  return nodes == 2 ? "both nodes" : "all " + std::to_string(nodes) + " nodes";
}

using Usable = std::vector<UsableAddress>;

/// An address of node 0 and what it shares with the other nodes.
struct Offer {
  const UsableAddress* own = nullptr;
  bool is_shared = false;        // every other node has an address in its subnet
  std::uint32_t speed_mbit = 0;  // of the slowest link; 0: unknown on one of them
  std::vector<NodeRoute> routes;
};

bool is_on_link(const UsableAddress& a, const UsableAddress& b) {
  return in_same_network(a.ip, b.ip, std::max(a.prefix, b.prefix));
}

bool has_address(const NodeFacts& facts, const std::string& text) {
  return std::any_of(facts.interfaces.begin(), facts.interfaces.end(), [&](const auto& interface) {
    return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                       [&](const InterfaceAddress& address) { return address.text == text; });
  });
}

/// Two names of one machine, or several agents on it, have the same interfaces. Probing later
/// distinguishes machines that only look alike.
bool is_same_machine(const NodeFacts& a, const NodeFacts& b) {
  return !a.interfaces.empty() && a.interfaces == b.interfaces;
}

bool is_one_machine(const Cluster& cluster) {
  return std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const Node& node) {
    return is_same_machine(node.facts, cluster.nodes.front().facts);
  });
}

/// False if another machine also has the address, as container engines and hypervisors give the
/// same address to every machine: by that address, the other machine would reach itself.
bool is_unique(const UsableAddress& own, const Cluster& cluster) {
  const std::string text = ip_text(own.ip);
  const NodeFacts& first = cluster.nodes.front().facts;
  for (std::size_t i = 1; i < cluster.nodes.size(); ++i) {
    const NodeFacts& other = cluster.nodes[i].facts;
    if (!is_same_machine(other, first) && has_address(other, text)) return false;
  }
  return true;
}

Offer offer_of(const UsableAddress& own, const std::vector<Usable>& usable) {
  Offer offer{&own, true, own.interface->speed_mbit, {}};
  bool all_known = offer.speed_mbit > 0;
  offer.routes.push_back({own.interface->name, ip_text(own.ip)});
  for (std::size_t i = 1; i < usable.size(); ++i) {
    const auto same = std::find_if(usable[i].begin(), usable[i].end(),
                                   [&](const UsableAddress& a) { return is_on_link(own, a); });
    if (same == usable[i].end()) {
      offer.is_shared = false;
      offer.routes.emplace_back();
      continue;
    }
    offer.routes.push_back({same->interface->name, ip_text(same->ip)});
    all_known = all_known && same->interface->speed_mbit > 0;
    offer.speed_mbit = std::min(offer.speed_mbit, same->interface->speed_mbit);
  }
  if (!all_known) offer.speed_mbit = 0;
  return offer;
}

/// An address of a machine-internal bridge or a link-local address cannot be routed.
bool is_hopeless(const Offer& offer) {
  return !offer.is_shared && (offer.own->rank == AddressClass::inner_bridge ||
                              offer.own->rank == AddressClass::link_local);
}

bool is_better(const Offer& a, const Offer& b) {
  const auto key = [](const Offer& o) {
    return std::tuple(o.own->rank, !o.is_shared, ~o.speed_mbit, o.own->ip.is_ipv6);
  };
  return key(a) < key(b);
}

std::string reason_of(const Offer& offer, const std::vector<Offer>& offers, std::size_t nodes) {
  const std::string& name = offer.own->interface->name;
  if (!offer.is_shared) return name + ", over a router";
  // Two addresses of one interface do not count as two networks.
  const bool has_rival = std::any_of(offers.begin(), offers.end(), [&](const Offer& other) {
    return other.is_shared && other.own->interface != offer.own->interface;
  });
  const bool is_fastest = offer.speed_mbit > 0 && &offer == &offers.front() &&
                          std::none_of(offers.begin(), offers.end(), [&](const Offer& other) {
                            return other.speed_mbit > offer.speed_mbit;
                          });
  const std::string which = !has_rival ? "the only" : is_fastest ? "the fastest" : "a";
  return name + ", " + which + " subnet that " + all_nodes(nodes) + " share";
}

Candidate given(std::string address, std::string reason, const std::vector<Offer>& offers,
                std::size_t nodes) {
  Candidate candidate{std::move(address), std::move(reason), false, true, {}};
  const auto ip = parse_ip(candidate.address);
  candidate.is_ip = ip.has_value();
  if (ip) candidate.address = ip_text(*ip);
  const auto own = std::find_if(offers.begin(), offers.end(),
                                [&](const Offer& offer) { return ip && offer.own->ip == *ip; });
  candidate.is_own = own != offers.end();
  candidate.routes = own != offers.end() ? own->routes : std::vector<NodeRoute>(nodes);
  return candidate;
}

void add(std::vector<Candidate>& candidates, Candidate candidate) {
  const bool known = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
    return c.address == candidate.address;
  });
  if (!known && candidates.size() < kMostCandidates) candidates.push_back(std::move(candidate));
}

bool is_reachable_ip(const std::string& text) {
  const auto ip = parse_ip(text);
  return ip && is_unicast(*ip) && !is_loopback(*ip) && !is_link_local(*ip);
}

Result<std::vector<Usable>> usable_of_nodes(const RendezvousSpec& spec, const Cluster& cluster) {
  const InterfaceChoice choice(spec.interface);
  std::vector<Usable> usable;
  for (const Node& node : cluster.nodes) {
    usable.push_back(usable_addresses(node.facts, choice));
    if (!usable.back().empty() || choice.is_auto() || node.facts.interfaces.empty()) continue;
    return fail(exit_code::kPreflight, "rendezvous.interface: " + spec.interface +
                                           " matches no interface that is up on " + node.name +
                                           ", which has " + interface_list(node.facts));
  }
  return usable;
}

std::vector<Offer> offers_of(const Cluster& cluster, const std::vector<Usable>& usable) {
  std::vector<Offer> offers;
  for (const UsableAddress& own : usable.front()) {
    if (!is_unique(own, cluster)) continue;
    Offer offer = offer_of(own, usable);
    if (!is_hopeless(offer)) offers.push_back(std::move(offer));
  }
  std::stable_sort(offers.begin(), offers.end(), is_better);
  return offers;
}

}  // namespace

bool is_host_internal(std::string_view name) {
  constexpr std::array<std::string_view, 14> kBeginnings = {
      "docker", "virbr",  "cni",     "flannel", "cali",  "cilium", "lxcbr",
      "lxdbr",  "podman", "nerdctl", "weave",   "kube-", "vmnet",  "vboxnet"};
  if (std::any_of(kBeginnings.begin(), kBeginnings.end(),
                  [&](std::string_view begin) { return name.starts_with(begin); })) {
    return true;
  }
  // Docker names its networks "br-" and twelve digits of their id.
  return name.size() == 15 && name.starts_with("br-") && is_hexadecimal(name.substr(3));
}

bool has_master(Framework framework) {
  return is_torch(framework) || framework == Framework::jax || framework == Framework::gcp ||
         uses_mpi(framework);
}

std::uint32_t fastest_card(const RendezvousSpec& spec, const NodeFacts& facts) {
  std::uint32_t speed = 0;
  for (const UsableAddress& one : usable_addresses(facts, InterfaceChoice(spec.interface)))
    speed = std::max(speed, one.interface->speed_mbit);
  return speed;
}

std::string address_of(const Node& node, std::size_t nodes) {
  if (nodes == 1) return "127.0.0.1";
  return node.address.empty() ? node.name : node.address;
}

Result<Meeting> choose_meeting(const RendezvousSpec& spec, const Cluster& cluster) {
  const std::size_t nodes = cluster.nodes.size();
  if (nodes == 1) {
    const bool is_chosen = spec.address != "auto" && !spec.address.empty();
    return Meeting{is_chosen ? spec.address : "127.0.0.1",
                   is_chosen ? "rendezvous.address of the job" : "the only node",
                   {}};
  }
  if (cluster.is_assumed && (spec.address == "auto" || spec.address.empty()))
    return Meeting{
        address_of(cluster.nodes.front(), nodes), "the first node; nothing was tried", {}};
  if (cluster.meeting && cluster.meeting->routes.size() == nodes) return *cluster.meeting;
  auto candidates = rendezvous_candidates(spec, cluster);
  if (!candidates) return tl::unexpected(candidates.error());
  Candidate& best = candidates->front();
  return Meeting{std::move(best.address), std::move(best.reason), std::move(best.routes)};
}

Result<MasterPlan> choose_master(const RendezvousSpec& spec, const Cluster& cluster,
                                 const Meeting& meeting) {
  const Node& first = cluster.nodes.front();
  MasterPlan master{meeting.address, 0, meeting.reason};
  if (spec.port == 0) {
    if (first.facts.reserved_ports.empty()) {
      return fail(exit_code::kPreflight,
                  "no free port was found on " + first.name + "; set rendezvous.port");
    }
    master.port = first.facts.reserved_ports.front();
    return master;
  }
  const auto& taken = first.facts.taken_ports;
  const auto found = std::find_if(taken.begin(), taken.end(),
                                  [&](const TakenPort& t) { return t.port == spec.port; });
  if (found != taken.end()) {
    return fail(exit_code::kPreflight,
                "port " + std::to_string(spec.port) + " on " + first.name + " is taken by " +
                    (found->holder.empty() ? "another process" : found->holder) +
                    "; use rendezvous.port: auto (--set rendezvous.port=auto)");
  }
  master.port = spec.port;
  return master;
}

Result<std::vector<Candidate>> rendezvous_candidates(const RendezvousSpec& spec,
                                                     const Cluster& cluster) {
  const std::size_t nodes = cluster.nodes.size();
  const auto usable = usable_of_nodes(spec, cluster);
  if (!usable) return tl::unexpected(usable.error());
  const std::vector<Offer> offers = offers_of(cluster, *usable);
  std::vector<Candidate> candidates;
  const bool is_chosen = spec.address != "auto" && !spec.address.empty();
  if (is_chosen) {
    candidates.push_back(given(spec.address, "rendezvous.address of the job", offers, nodes));
    return candidates;
  }
  const Node& first = cluster.nodes.front();
  const bool by_interface = spec.interface != "auto" && !spec.interface.empty();
  if (!by_interface && first.address != first.name && is_reachable_ip(first.address))
    add(candidates, given(first.address, "address of " + first.name + " in hosts", offers, nodes));
  if (!by_interface && is_one_machine(cluster)) {
    Candidate loopback{"127.0.0.1", "all nodes are the same machine", true, true, {}};
    loopback.routes.assign(nodes, {"lo", "127.0.0.1"});
    add(candidates, std::move(loopback));
  }
  for (const Offer& offer : offers) {
    add(candidates,
        {ip_text(offer.own->ip), reason_of(offer, offers, nodes), true, true, offer.routes});
  }
  // With address translation, the address that other nodes know need not be on any interface of the
  // node.
  if (!by_interface && is_reachable_ip(first.name))
    add(candidates, given(first.name, "name of the first node", offers, nodes));
  if (candidates.empty() && first.facts.interfaces.empty())
    candidates.push_back(given(address_of(first, nodes), "the first node", offers, nodes));
  if (!candidates.empty()) return candidates;
  return fail(exit_code::kPreflight,
              first.name + " has no address that other nodes could reach: it has " +
                  interface_list(first.facts) + "\n         try: --set rendezvous.address=ADDRESS");
}

}  // namespace dlaunch
