// Questions that other processes of the same user ask a run's engine, and its answers
// (launch/questions).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "model/stacks.h"
#include "model/status.h"

namespace dlaunch {

/// `dlaunch stop`.
struct StopQuestion {
  std::string build_id;     // must equal the engine's
  bool now = false;         // kill at once
  bool checkpoint = false;  // wait for a new, complete checkpoint, at most for timeouts.stop
  bool operator==(const StopQuestion&) const = default;
};

/// The run is being stopped.
struct StopReply {
  std::uint64_t limit_ms = 0;  // the longest time until the run's ranks are killed
  bool operator==(const StopReply&) const = default;
};

using Question = std::variant<StacksQuestion, StatusQuestion, StopQuestion>;

/// Why a question has no answer.
struct Refusal {
  std::string problem;
  std::int32_t exit_code = 0;
  bool operator==(const Refusal&) const = default;
};

using Reply = std::variant<Refusal, StacksReply, StatusReply, StopReply>;

}  // namespace dlaunch
