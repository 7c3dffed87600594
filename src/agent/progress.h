// A page shared by guardian and agent, through which the guardian sees that the agent still runs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace dlaunch {

struct Progress {
  std::atomic<std::uint64_t> beats{0};               // the agent adds one at every heartbeat
  std::atomic<std::uint32_t> heartbeat_ms{1000};     // from Hello
  std::atomic<std::uint32_t> fence_after_ms{10000};  // from Hello
  std::atomic<std::uint64_t> lease_end{0};  // CLOCK_MONOTONIC, ns; 0: the session has no lease
  std::array<char, 256> entry_folder{};     // see container_folder.h; likewise
  std::array<char, 256> join_folder{};      // see join_point.h; "": there is none now
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// Mapped shared and zeroed, before the fork; never unmapped. Null where there is no memory.
[[nodiscard]] Progress* map_progress();

}  // namespace dlaunch
