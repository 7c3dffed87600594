// What the kernel says about processes and the machine, from text to values. Pure; any text is
// allowed. Source: proc(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch {

/// From /proc/PID/stat.
struct ProcessStat {
  char state = '?';
  std::uint64_t started = 0;  // ticks since boot; with the pid, it identifies a process uniquely
  std::uint64_t ticks = 0;    // user and system time, including children that were waited for
  std::uint64_t pages = 0;    // resident
  bool operator==(const ProcessStat&) const = default;
};
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view stat);

/// Bytes read and written by system calls, from /proc/PID/io (rchar, wchar).
[[nodiscard]] std::uint64_t parse_io(std::string_view io);

/// Context switches of both kinds, from /proc/PID/status.
[[nodiscard]] std::uint64_t parse_switches(std::string_view status);

/// How long a thread was ready to run but had no CPU, in nanoseconds, from its schedstat.
[[nodiscard]] std::uint64_t parse_waited(std::string_view schedstat);

/// From the first lines of /proc/stat, over all CPUs since boot.
struct CpuTime {
  std::uint64_t busy = 0;   // ticks
  std::uint32_t cores = 0;  // that are online
  bool operator==(const CpuTime&) const = default;
};
[[nodiscard]] CpuTime parse_cpu_time(std::string_view stat);

/// Bytes, from /proc/meminfo.
[[nodiscard]] std::uint64_t parse_available_memory(std::string_view meminfo);

/// Bytes received and sent by all network cards, from /proc/net/dev. Leaves out loopback, bridges,
/// tunnels, bonds and the ends of containers' links: a card counts their traffic too, or it never
/// leaves the machine.
[[nodiscard]] std::uint64_t parse_network_bytes(std::string_view dev);

/// From /proc/pressure/memory: the share of the last 10 s in which some process waited for memory.
[[nodiscard]] std::uint32_t parse_stall_permille(std::string_view pressure);

/// A total over the processes of a rank that never decreases: the share of a process stays in it
/// after the process has ended, unless the parent has taken over that share by waiting for it.
class RisingTotal {
 public:
  std::uint64_t add(std::uint64_t sum) {
    if (sum < last_) lost_ += last_ - sum;
    last_ = sum;
    return lost_ + sum;
  }

 private:
  std::uint64_t last_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace dlaunch
