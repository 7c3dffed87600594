// What an agent sees of its ranks from outside while they run. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace dlaunch {

/// The latest number that one of the job's metrics has found in a rank's output.
struct MetricPulse {
  std::uint32_t metric = 0;  // index of StartRanks::metrics
  std::string value;         // "0.25", six digits
  bool operator==(const MetricPulse&) const = default;
};

/// What a rank and all processes below it are doing. Totals count from its start, so a lost pulse
/// loses nothing.
struct RankPulse {
  Rank rank;
  std::uint64_t output = 0;          // bytes of both streams
  std::uint32_t quiet_ms = 0;        // since the last byte, or since the start
  std::uint64_t heartbeats = 0;      // changes of DLAUNCH_HEARTBEAT_FILE that were seen
  std::uint32_t heartbeat_ms = 0;    // since the last change; meaningless if there was none
  std::uint64_t cpu_ms = 0;          // user and system time, with children that were waited for
  std::uint64_t io_bytes = 0;        // read and written (proc(5), /proc/pid/io: rchar, wchar)
  std::uint64_t switches = 0;        // context switches of the main threads, of both kinds
  std::uint64_t memory = 0;          // resident bytes, shared ones as often as they are mapped
  std::uint32_t processes = 0;       // 0: it has ended, or was not started
  std::string state;                 // letter of proc(5) of its first process
  std::int32_t gpu_percent = -1;     // of its busiest GPU; -1: unknown
  std::uint64_t gpu_memory = 0;      // bytes, on all GPUs
  std::string last_line;             // plain text, truncated; empty: there is none
  std::vector<MetricPulse> metrics;  // ascending; those without a match are missing
  bool operator==(const RankPulse&) const = default;
};

/// The load and condition of the machine, which may explain why its ranks are slow.
struct NodePulse {
  std::uint32_t cpu_percent = 0;  // in use by anything; 100: one core
  std::uint32_t cores = 0;
  std::uint32_t mhz = 0;                    // mean of a few cores; 0: unknown
  std::uint64_t memory_available = 0;       // bytes
  std::uint32_t memory_stall_permille = 0;  // /proc/pressure/memory, "some", 10 s
  std::vector<std::string> remarks;         // "GPU 3: clocks are held down: hardware slowdown"
  std::uint64_t network_bytes = 0;          // sent and received by its network cards since boot
  std::uint32_t ranks_cpu_percent = 0;      // the part of `cpu_percent` that the job's ranks use
  bool operator==(const NodePulse&) const = default;
};

}  // namespace dlaunch
