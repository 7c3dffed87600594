#include "attempts.h"

namespace dlaunch::sim {

std::vector<Trace> attempts_of(const Trace& run) {
  std::vector<Trace> parts;
  bool waiting = true;  // for the step with which an attempt begins
  for (const StepRecord& step : run.steps) {
    const bool begins =
        parts.empty() || (waiting && find_action<action::GatherFacts>(step) != nullptr);
    if (waiting && begins) {
      Trace part;
      part.scenario = run.scenario;
      part.attempt = Attempt{static_cast<std::uint32_t>(parts.size())};
      part.scenario.ranks = run.scenario.ranks_of(part.attempt);
      part.ranks = run.truth.at(part.attempt.value);
      part.nodes = run.nodes;
      part.ran_out_of_events = run.ran_out_of_events;
      part.ranks_began = run.ranks_began;
      part.is_last = true;
      parts.push_back(std::move(part));
      waiting = false;
    }
    if (waiting) continue;
    parts.back().steps.push_back(step);
    if (find_action<action::Restart>(step) != nullptr) {
      parts.back().is_last = false;
      waiting = true;
    }
    // With a back-off of 0 the next attempt begins in the step in which this one ends.
    if (waiting && find_action<action::GatherFacts>(step) != nullptr) {
      waiting = false;
      Trace next = parts.back();
      next.attempt = Attempt{static_cast<std::uint32_t>(parts.size())};
      next.scenario.ranks = run.scenario.ranks_of(next.attempt);
      next.ranks = run.truth.at(next.attempt.value);
      next.steps.assign(1, step);
      next.is_last = true;
      auto& actions = next.steps.front().actions;
      std::erase_if(actions, [](const Action& action) {
        return !std::holds_alternative<action::GatherFacts>(action);
      });
      next.steps.front().event.reset();
      auto& ending = parts.back().steps.back().actions;
      std::erase_if(ending, [](const Action& action) {
        return std::holds_alternative<action::GatherFacts>(action);
      });
      parts.push_back(std::move(next));
    }
  }
  return parts;
}

bool ended_in_wait(const Trace& run) {
  bool waiting = false;
  for (const StepRecord& step : run.steps) {
    if (find_action<action::Restart>(step) != nullptr) waiting = true;
    if (find_action<action::GatherFacts>(step) != nullptr) waiting = false;
    if (find_action<action::Finish>(step) != nullptr) return waiting;
  }
  return false;
}

}  // namespace dlaunch::sim
