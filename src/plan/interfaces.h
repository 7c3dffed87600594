// Addresses of a node that other nodes may be able to reach.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/ip_address.h"

namespace dlaunch {

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

/// How suitable an address is for training traffic; better ones first.
enum class AddressClass { network, tunnel, inner_bridge, link_local };

struct UsableAddress {
  const NetworkInterface* interface = nullptr;
  IpAddress ip;
  int prefix = 0;
  AddressClass rank = AddressClass::network;
};

/// Bridges that container engines and hypervisors create for the local machine only: docker0,
/// virbr0, cni0, ...
[[nodiscard]] bool is_host_internal(std::string_view name);

/// In the order of the facts.
[[nodiscard]] std::vector<UsableAddress> usable_addresses(const NodeFacts&, const InterfaceChoice&);

/// "eth0 (10.0.0.4, down), docker0 (172.17.0.1)": the interfaces of the node, for messages.
[[nodiscard]] std::string interface_list(const NodeFacts&);

}  // namespace dlaunch
