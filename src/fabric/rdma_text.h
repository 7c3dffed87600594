// The texts under /sys/class/infiniband/<device>/ports/<port>. Source: Linux,
// drivers/infiniband/core/sysfs.c, the functions named *_show. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/fabric.h"

namespace dlaunch::fabric {

/// "4: ACTIVE". The number decides; unknown for anything else.
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

/// Eight groups of four hexadecimal digits, as they are; nullopt for anything else, and for an
/// entry that is not in use (all zero).
[[nodiscard]] std::optional<std::string> parse_gid(std::string_view text);

}  // namespace dlaunch::fabric
