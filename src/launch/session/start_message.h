// The messages that tell an agent what to start, made from the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

struct StartSettings {
  std::string log_folder;  // absolute
  Environment secrets{};   // values of env_secret, which the plan never holds
  std::optional<Rank> stdin_rank = {};     // it gets the user's stdin
  std::optional<Rank> terminal_rank = {};  // its streams are a terminal of its own
  std::uint32_t output_credit = 0;
  std::vector<bool> shown = {};  // by rank: send its output; beyond its end: true
  Duration pulse_interval{};     // 0: no pulses
  std::vector<std::string> metrics = {};  // as StartRanks::metrics
  Preemption preemption = {};
  std::vector<std::string> preload = {};  // as StartRanks::preload
  std::vector<std::string> checkpoints = {};  // as StartRanks::checkpoints
};

/// The ranks of one node in messages of a bounded number of ranks each, so that the first ones
/// start while the rest is still being prepared. At least one message, even for a node
/// without ranks.
[[nodiscard]] std::vector<wire::StartRanks> start_messages(const LaunchPlan& plan, NodeRank node,
                                                           const StartSettings& settings);

}  // namespace dlaunch
