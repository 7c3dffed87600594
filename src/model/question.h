// What other processes of a run's user ask its engine, and what it answers (launch/questions).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "model/stacks.h"
#include "model/status.h"

namespace dlaunch {

using Question = std::variant<StacksQuestion, StatusQuestion>;

/// Why a question has no answer.
struct Refusal {
  std::string problem;
  std::int32_t exit_code = 0;
  bool operator==(const Refusal&) const = default;
};

using Reply = std::variant<Refusal, StacksReply, StatusReply>;

}  // namespace dlaunch
