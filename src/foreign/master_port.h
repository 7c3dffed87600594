// MASTER_PORT for ranks that cannot ask each other: all compute the same one from the job's id.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlaunch::foreign {

/// net.ipv4.ip_local_port_range: from these the kernel takes ports of outgoing connections.
struct PortRange {
  std::uint16_t first = 32768;
  std::uint16_t last = 60999;
  bool operator==(const PortRange&) const = default;
};

/// "32768\t60999", as /proc/sys/net/ipv4/ip_local_port_range has it; the kernel's default for
/// anything else.
[[nodiscard]] PortRange read_port_range(std::string_view text);

/// How many ports above the one of a job are its own too.
inline constexpr std::uint16_t kPortsOfJob = 768;

/// A port from the hash of `job_id`: in 20000..31999 where the local range leaves that free, else
/// in the larger part of 1024..65535 that it leaves, else in 20000..31999 all the same. The next
/// kPortsOfJob - 1 ports lie in the same part, if it is as large. Nodes with different ranges may
/// compute different ports.
[[nodiscard]] std::uint16_t master_port(std::string_view job_id, PortRange local);

/// FNV-1a, 64 bit: the same on every machine and in every version.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);

}  // namespace dlaunch::foreign
