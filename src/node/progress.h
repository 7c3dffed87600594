// A page shared by guardian and agent, by which the guardian sees that the agent still makes
// progress.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace dlaunch {

struct Progress {
  // The session that the agent serves now: an agent that stays serves several (node/agent.h).
  std::atomic<std::uint64_t> session{0};
  std::atomic<std::uint32_t> node{0};
  std::atomic<std::uint64_t> beats{0};               // the agent adds one at every heartbeat
  std::atomic<std::uint32_t> heartbeat_ms{1000};     // from Hello
  std::atomic<std::uint32_t> fence_after_ms{10000};  // from Hello
  std::atomic<std::uint64_t> lease_end{0};  // CLOCK_MONOTONIC, ns; 0: the session has no lease
  std::atomic<bool> knows_run{false};       // the run's id is in `run`
  std::array<char, 64> run{};
  std::array<char, 256> entry_folder{};  // container_folder.h; "" if there is none
  std::array<char, 256> join_folder{};   // join_listener.h; "" if there is none
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// "dlaunch: agent RUN": what ps(1) shows of an agent or its guardian. `has_arguments`: it includes
/// session_arguments().
[[nodiscard]] std::string agent_title(const std::string& role, const Progress& progress,
                                      bool has_arguments);

/// Maps the page, zeroed; call before the fork. It is never unmapped. Null: no memory.
[[nodiscard]] Progress* map_progress();

}  // namespace dlaunch
