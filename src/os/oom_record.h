// What the kernel writes down when it ends a process for lack of memory, as text. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace dlaunch {

/// A kill as the kernel log tells it (mm/oom_kill.c, __oom_kill_process).
struct OomKill {
  pid_t pid = 0;                    // in the initial PID namespace
  std::chrono::microseconds at{0};  // since boot
  bool by_cgroup = false;  // a cgroup's limit was reached; false: the memory of the whole machine
  std::optional<std::uint64_t> anonymous_bytes;
  bool operator==(const OomKill&) const = default;
};

/// One record of /dev/kmsg ("6,1234,98765,-;Out of memory: Killed process 4711 (python) ...",
/// Documentation/ABI/testing/dev-kmsg); nullopt: it tells of no kill. Knows the wording of Linux
/// 3.10 to 6.18.
[[nodiscard]] std::optional<OomKill> parse_oom_kill(std::string_view record);

/// The value of `key` in a file of lines "key value" (memory.events, memory.oom_control).
[[nodiscard]] std::optional<std::uint64_t> keyed_number(std::string_view text,
                                                        std::string_view key);

/// The limit that memory.max or memory.limit_in_bytes holds; nullopt: none ("max", or the largest
/// number of pages that v1 writes for it).
[[nodiscard]] std::optional<std::uint64_t> memory_limit(std::string_view text);

/// "12.3 GiB anonymous; limit of its cgroup 12 GiB". Parts that are not known are left out; at
/// least one sentence stays.
[[nodiscard]] std::string describe_oom(const std::optional<OomKill>& kill,
                                       std::optional<std::uint64_t> limit);

}  // namespace dlaunch
