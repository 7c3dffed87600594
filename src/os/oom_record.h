// Reads the kernel's records of processes that it has killed for lack of memory. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace dlaunch {

/// A kill in the kernel log (mm/oom_kill.c, __oom_kill_process).
struct OomKill {
  pid_t pid = 0;                    // in the initial PID namespace
  std::chrono::microseconds at{0};  // since boot
  bool by_cgroup = false;  // a cgroup's limit was reached; false: the memory of the whole machine
  std::optional<std::uint64_t> anonymous_bytes;
  bool operator==(const OomKill&) const = default;
};

/// One record of /dev/kmsg ("6,1234,98765,-;Out of memory: Killed process 4711 (python) ...",
/// Documentation/ABI/testing/dev-kmsg); nullopt if it is not a kill. Knows the wording of Linux
/// 3.10 to 6.18.
[[nodiscard]] std::optional<OomKill> parse_oom_kill(std::string_view record);

/// When the kernel itself wrote this record, since boot; nullopt: a program wrote it, or it is not
/// a record.
[[nodiscard]] std::optional<std::chrono::microseconds> kernel_wrote_at(std::string_view record);

/// The value of `key` in a file of lines "key value" (memory.events, memory.oom_control).
[[nodiscard]] std::optional<std::uint64_t> keyed_number(std::string_view text,
                                                        std::string_view key);

/// The limit in the text of memory.max or memory.limit_in_bytes; nullopt: none ("max", or in v1 the
/// largest number of pages).
[[nodiscard]] std::optional<std::uint64_t> memory_limit(std::string_view text);

/// "12.3 GiB anonymous; cgroup limit 12 GiB". Omits unknown parts; never empty.
[[nodiscard]] std::string describe_oom(const std::optional<OomKill>& kill,
                                       std::optional<std::uint64_t> limit);

}  // namespace dlaunch
