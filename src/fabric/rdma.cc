#include "fabric/rdma.h"

#include <algorithm>
#include <array>

#include "fabric/pci.h"
#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

using LinkLayer = RdmaPort::LinkLayer;

constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostPorts = 16;
constexpr std::size_t kMostGids = 64;
constexpr int kMostGidIndex = 1023;
constexpr int kMostEmptyGids = 16;  // in a row

/// Those of `names` that are numbers, ascending.
std::vector<int> numbers_in(const std::vector<std::string>& names, int max) {
  std::vector<int> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_number(name, max)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

class Reader {
 public:
  Reader(const std::string& root, Oddities& oddities)
      : class_(root + "/sys/class/infiniband"),
        verbs_(root + "/sys/class/infiniband_verbs"),
        device_files_(root + "/dev/infiniband"),
        pci_(root),
        oddities_(oddities) {}

  std::vector<RdmaDevice> read() {
    std::vector<std::string> names = class_.names();
    std::sort(names.begin(), names.end(), natural_less);
    read_device_files();
    std::vector<RdmaDevice> devices;
    for (const std::string& name : names) {
      if (devices.size() == kMostDevices) {
        oddities_.add("more than " + std::to_string(kMostDevices) +
                      " RDMA devices: the others were not examined");
        break;
      }
      if (is_device_name(name)) devices.push_back(device(name));
    }
    return devices;
  }

 private:
  void odd(const std::string& where, const std::string& text) {
    const std::string shown = plain_or_empty(text, 40);
    oddities_.add(where + (text.empty()    ? " is empty"
                           : shown.empty() ? " is not printable text"
                                           : " is \"" + shown + '"'));
  }

  /// Finds the devices that this process may open: /dev/infiniband/uverbsN.
  void read_device_files() {
    for (const std::string& name : verbs_.names()) {
      if (!name.starts_with("uverbs") || !device_files_.usable(name)) continue;
      if (const auto device = verbs_.read(name + "/ibdev")) usable_.push_back(*device);
    }
  }

  RdmaDevice device(const std::string& name) {
    RdmaDevice device;
    device.name = name;
    device.is_usable = contains(usable_, name);
    const std::string type = class_.read(name + "/node_type").value_or("");
    const std::size_t colon = type.find(": ");
    if (colon != std::string::npos) device.type = plain_or_empty(type.substr(colon + 2), 32);
    device.guid = plain_or_empty(class_.read(name + "/node_guid").value_or(""), 32);
    device.firmware = plain_or_empty(class_.read(name + "/fw_ver").value_or(""), 64);
    device.card = plain_or_empty(class_.read(name + "/hca_type").value_or(""), 64);
    read_pci(device);
    for (const int number : numbers_in(class_.names(name + "/ports"), 255)) {
      if (device.ports.size() == kMostPorts) break;
      device.ports.push_back(port(name, number));
    }
    if (device.ports.empty()) oddities_.add(name + " has no ports");
    return device;
  }

  void read_pci(RdmaDevice& device) {
    // A software device (rxe, siw) has a different kind of parent, or none.
    const std::string address = class_.link_name(device.name + "/device");
    if (!parse_pci_address(address)) return;
    device.pci_address = address;
    device.pci_path = pci_.path(address);
    device.numa = pci_.numa(address);
    device.function = pci_.function(address);
    device.driver = pci_.driver(address);
    if (const std::string card = pci_.network_card(address); !card.empty()) device.card = card;
  }

  RdmaPort port(const std::string& device, int number) {
    const std::string at = device + "/ports/" + std::to_string(number) + '/';
    const std::string shown = device + '/' + std::to_string(number) + ": ";
    RdmaPort port;
    port.number = number;
    const std::string state = class_.read(at + "state").value_or("");
    port.state = parse_port_state(state);
    if (port.state == RdmaPort::State::unknown) odd(shown + "state", state);
    port.physical_state = parse_physical_state(class_.read(at + "phys_state").value_or(""));
    const std::string layer = class_.read(at + "link_layer").value_or("");
    port.link_layer = parse_link_layer(layer);
    if (port.link_layer == LinkLayer::unknown && layer != "Unknown" && layer != "Unspecified")
      odd(shown + "link_layer", layer);
    if (const std::optional<std::string> rate = class_.read(at + "rate")) {
      if (auto parsed = parse_port_rate(*rate)) {
        port.rate_mbit = parsed->mbit;
        port.lanes = parsed->lanes;
        port.speed = std::move(parsed->speed);
      } else {
        odd(shown + "rate", *rate);
      }
    }
    port.lid = parse_hex(class_.read(at + "lid").value_or("")).value_or(0);
    port.sm_lid = parse_hex(class_.read(at + "sm_lid").value_or("")).value_or(0);
    read_gids(at, port);
    port.netdev = netdev(device, port);
    return port;
  }

  /// The table has up to 256 entries, and most of them are empty: reading the type of an empty
  /// entry fails. The kernel puts a new GID into the first free entry (find_gid in its
  /// drivers/infiniband/core/cache.c), so no GID follows many empty entries.
  void read_gids(const std::string& at, RdmaPort& port) {
    int empty = 0;
    for (const int index : numbers_in(class_.names(at + "gids"), kMostGidIndex)) {
      if (port.gids.size() == kMostGids || empty == kMostEmptyGids) return;
      const std::string file = std::to_string(index);
      auto gid = parse_gid(class_.read(at + "gids/" + file).value_or(""));
      empty = gid ? 0 : empty + 1;
      if (!gid) continue;
      RdmaGid& entry = port.gids.emplace_back();
      entry.index = index;
      entry.gid = *std::move(gid);
      entry.type = parse_gid_type(class_.read(at + "gid_attrs/types/" + file).value_or(""));
      const std::string netdev = class_.read(at + "gid_attrs/ndevs/" + file).value_or("");
      if (is_device_name(netdev)) entry.netdev = netdev;
    }
  }

  /// The interface of the port: the one that its GIDs name (for RoCE this may be a bond), else the
  /// interface of the PCI function.
  std::string netdev(const std::string& device, const RdmaPort& port) {
    for (const RdmaGid& gid : port.gids) {
      if (!gid.netdev.empty()) return gid.netdev;
    }
    const std::string at = device + "/device/net";
    const std::vector<std::string> names = class_.names(at);
    for (const std::string& name : names) {
      // dev_port counts from 0 if one function has several ports. Old drivers report it in dev_id
      // instead.
      const auto mine = class_.read_number(at + '/' + name + "/dev_port");
      if (is_device_name(name) && mine && *mine == port.number - 1) return name;
    }
    return names.size() == 1 && is_device_name(names.front()) && port.number == 1 ? names.front()
                                                                                  : std::string();
  }

  Tree class_;
  Tree verbs_;
  Tree device_files_;
  PciTree pci_;
  Oddities& oddities_;
  std::vector<std::string> usable_;
};

constexpr int kArphrdInfiniband = 32;  // include/uapi/linux/if_arp.h

NicFact nic(const Tree& net, const PciTree& pci, const std::string& name) {
  NicFact nic;
  nic.name = name;
  nic.driver = plain_or_empty(net.link_name(name + "/device/driver"), 64);
  const std::string address = net.link_name(name + "/device");
  if (parse_pci_address(address)) {
    nic.pci_address = address;
    nic.pci_path = pci.path(address);
    nic.numa = pci.numa(address);
    nic.function = pci.function(address);
  }
  nic.has_carrier = net.read_number(name + "/carrier").value_or(0) == 1;
  // If the driver does not know the speed, the file has -1 or 4294967295, or reading it fails with
  // EINVAL.
  nic.speed_mbit = static_cast<std::uint32_t>(net.read_number(name + "/speed").value_or(0));
  const std::string master = net.link_name(name + "/master");
  if (is_device_name(master)) nic.master = master;
  nic.is_infiniband = net.read_number(name + "/type") == kArphrdInfiniband;
  return nic;
}

}  // namespace

std::vector<RdmaDevice> read_rdma(const std::string& root, Oddities& oddities) {
  return Reader(root, oddities).read();
}

std::vector<NicFact> read_nics(const std::string& root) {
  constexpr std::size_t kMostNics = 64;
  const Tree net(root + "/sys/class/net");
  const PciTree pci(root);
  std::vector<std::string> names = net.names();
  std::sort(names.begin(), names.end(), natural_less);
  std::vector<NicFact> nics;
  for (const std::string& name : names) {
    if (nics.size() == kMostNics) break;
    if (is_device_name(name) && net.has(name + "/device")) nics.push_back(nic(net, pci, name));
  }
  return nics;
}

namespace {

/// Parses "4: ACTIVE": returns the number and puts the rest into `word`.
std::optional<int> numbered(std::string_view text, std::string_view& word) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  word = text.substr(colon + 2);
  return parse_number(text.substr(0, colon), 255);
}

}  // namespace

RdmaPort::State parse_port_state(std::string_view text) {
  using State = RdmaPort::State;
  constexpr std::array kStates = {State::nop,   State::down,   State::init,
                                  State::armed, State::active, State::active_defer};
  std::string_view word;
  const auto number = numbered(text, word);
  if (!number || static_cast<std::size_t>(*number) >= kStates.size()) return State::unknown;
  return kStates[static_cast<std::size_t>(*number)];
}

std::string parse_physical_state(std::string_view text) {
  std::string_view word;
  return numbered(text, word) ? plain_or_empty(word, 32) : std::string();
}

RdmaPort::LinkLayer parse_link_layer(std::string_view text) {
  if (text == "InfiniBand") return RdmaPort::LinkLayer::infiniband;
  if (text == "Ethernet") return RdmaPort::LinkLayer::ethernet;
  return RdmaPort::LinkLayer::unknown;
}

std::optional<PortRate> parse_port_rate(std::string_view text) {
  constexpr std::string_view kUnit = " Gb/sec (";
  constexpr int kMostGigabits = 1'000'000;
  const std::size_t unit = text.find(kUnit);
  if (unit == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  std::string_view number = text.substr(0, unit);
  const bool half = number.ends_with(".5");  // the only fraction that the kernel writes
  if (half) number.remove_suffix(2);
  const auto gigabits = parse_number(number, kMostGigabits);
  std::string_view inside = text.substr(unit + kUnit.size());
  inside.remove_suffix(1);
  const std::size_t x = inside.find('X');
  const auto lanes = parse_number(inside.substr(0, x), 255);
  if (!gigabits || !lanes || x == std::string_view::npos) return std::nullopt;
  const std::string_view rest = inside.substr(x + 1);
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  PortRate rate;
  rate.mbit = static_cast<std::uint32_t>(*gigabits) * 1000U + (half ? 500U : 0U);
  rate.lanes = *lanes;
  rate.speed = plain_or_empty(rest.empty() ? rest : rest.substr(1), 16);
  return rate;
}

RdmaGid::Type parse_gid_type(std::string_view text) {
  if (text == "RoCE v2") return RdmaGid::Type::roce_v2;
  if (text == "IB/RoCE v1") return RdmaGid::Type::v1;
  return RdmaGid::Type::unknown;
}

std::optional<std::string> parse_gid(std::string_view text) {
  constexpr std::size_t kLength = 39;
  if (text.size() != kLength) return std::nullopt;
  bool in_use = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (i % 5 == 4 ? c != ':' : !is_hex) return std::nullopt;
    in_use = in_use || (c != '0' && c != ':');
  }
  return in_use ? std::optional<std::string>(text) : std::nullopt;
}

}  // namespace dlaunch::fabric
