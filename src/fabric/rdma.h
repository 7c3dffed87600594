// InfiniBand and RoCE devices below /sys/class/infiniband of a root. Nothing here fails: what
// cannot be read counts as unknown, and what cannot be parsed is reported as an oddity. Sources:
// Linux, Documentation/ABI/stable/sysfs-class-infiniband and drivers/infiniband/core/sysfs.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/tree.h"
#include "model/fabric.h"

namespace dlaunch::fabric {

/// Reads at most 64 devices, 16 ports of each, and 64 GIDs of each port.
[[nodiscard]] std::vector<RdmaDevice> read_rdma(const std::string& root, Oddities& oddities);

/// Hardware interfaces in the network namespace in which /sys was mounted; at most 64. Source:
/// Linux, Documentation/ABI/testing/sysfs-class-net.
[[nodiscard]] std::vector<NicFact> read_nics(const std::string& root);

// Parsers of the files under /sys/class/infiniband/<device>/ports/<port>. Source: Linux,
// drivers/infiniband/core/sysfs.c, the functions named *_show. Pure.

/// "4: ACTIVE": only the number counts. State::unknown for anything else.
[[nodiscard]] RdmaPort::State parse_port_state(std::string_view text);

/// The word of "5: LinkUp"; empty for anything else.
[[nodiscard]] std::string parse_physical_state(std::string_view text);

[[nodiscard]] RdmaPort::LinkLayer parse_link_layer(std::string_view text);

struct PortRate {
  std::uint32_t mbit = 0;
  int lanes = 0;
  std::string speed;
  bool operator==(const PortRate&) const = default;
};

/// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X)". nullopt for anything else.
[[nodiscard]] std::optional<PortRate> parse_port_rate(std::string_view text);

[[nodiscard]] RdmaGid::Type parse_gid_type(std::string_view text);

/// Returns eight groups of four hexadecimal digits unchanged; nullopt for anything else and for an
/// unused entry (all zero).
[[nodiscard]] std::optional<std::string> parse_gid(std::string_view text);

}  // namespace dlaunch::fabric
