// Divides a run into its attempts, so that the invariants of an attempt are checked on each.
#pragma once

#include <vector>

#include "trace.h"

namespace dlaunch::sim {

/// One part per attempt: the first step asks all nodes for facts or waits for lost ones, the last
/// one finishes the run or announces another attempt. Steps during the waits belong to no part.
[[nodiscard]] std::vector<Trace> attempts_of(const Trace& run);

/// The end of the run fell into a wait: the last attempt failed, and none followed.
[[nodiscard]] bool ended_in_wait(const Trace& run);

/// Announces that the next attempt waits for lost nodes; may be the first action for that attempt.
[[nodiscard]] bool is_wait(const action::Tell& told);
/// Call for the event of a step, then for its actions.
void note(const Event& event, std::vector<Membership>& members);
void note(const Action& action, std::vector<Membership>& members);
/// In a wait: the step begins the next attempt.
[[nodiscard]] bool begins_attempt(const StepRecord& step);

/// The first action of this type in the step; nullptr: none.
template <class Kind>
const Kind* find_action(const StepRecord& step) {
  for (const Action& action : step.actions) {
    if (const auto* found = std::get_if<Kind>(&action)) return found;
  }
  return nullptr;
}

}  // namespace dlaunch::sim
