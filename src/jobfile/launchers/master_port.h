// MASTER_PORT for ranks that cannot communicate yet: all compute the same port from the job's id.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlaunch::launchers {

/// net.ipv4.ip_local_port_range: the ports of outgoing connections.
struct PortRange {
  std::uint16_t first = 32768;
  std::uint16_t last = 60999;
  bool operator==(const PortRange&) const = default;
};

/// Parses "32768\t60999" of /proc/sys/net/ipv4/ip_local_port_range; returns the kernel's default
/// for anything else.
[[nodiscard]] PortRange read_port_range(std::string_view text);

/// The number of consecutive ports that belong to a job, from master_port() on.
inline constexpr std::uint16_t kPortsOfJob = 768;

/// A port from the hash of `job_id`: in 20000..31999 if `local` leaves that range free, else in the
/// largest part of 1024..65535 outside of `local`, else in 20000..31999 regardless. The next
/// kPortsOfJob - 1 ports are in the same part if it is large enough. Nodes with different local
/// ranges may compute different ports.
[[nodiscard]] std::uint16_t master_port(std::string_view job_id, PortRange local);

/// FNV-1a, 64 bit: the same on every machine and in every version.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);

}  // namespace dlaunch::launchers
