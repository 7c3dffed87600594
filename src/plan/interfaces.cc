#include "plan/interfaces.h"

#include <algorithm>
#include <array>

#include "model/environment.h"

namespace dlaunch {

namespace {

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

}  // namespace

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

std::string interface_list(const NodeFacts& facts) {
  std::string text;
  for (const NetworkInterface& interface : facts.interfaces) {
    if (interface.kind == Kind::loopback || interface.addresses.empty()) continue;
    text += (text.empty() ? "" : ", ") + interface.name + " (" + interface.addresses.front().text +
            (interface.is_up ? ")" : ", down)");
  }
  return text.empty() ? "no interface but loopback" : text;
}

}  // namespace dlaunch
