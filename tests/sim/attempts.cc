#include "attempts.h"

#include <algorithm>

namespace dlaunch::sim {

namespace {

/// Actions that belong to the next attempt.
bool is_of_next(const Action& action) {
  if (const auto* told = std::get_if<action::Tell>(&action)) return is_wait(*told);
  return std::holds_alternative<action::GatherFacts>(action) ||
         std::holds_alternative<action::ConnectNode>(action);
}

void note_gone(const StepRecord& step, std::vector<bool>& gone) {
  for (const Action& action : step.actions) {
    if (const auto* removed = std::get_if<action::RemoveNode>(&action))
      gone.at(removed->node.value) = true;
  }
}

/// What makes a part that of this attempt: what its ranks were to do, did, and where.
void become(Attempt attempt, const Trace& run, Trace& part) {
  part.attempt = attempt;
  part.scenario.ranks = run.scenario.ranks_of(attempt);
  part.ranks = run.truth.at(attempt.value);
  if (!run.scenario.has_spares()) return;
  const std::vector<NodeId>& placed = run.placed.at(attempt.value);
  for (std::size_t r = 0; r < placed.size(); ++r) part.scenario.ranks[r].node = placed[r];
}

}  // namespace

bool is_wait(const action::Tell& told) {
  return told.line.starts_with("waiting up to ");
}

bool begins_attempt(const StepRecord& step) {
  return std::any_of(step.actions.begin(), step.actions.end(), is_of_next);
}

std::vector<Trace> attempts_of(const Trace& run) {
  std::vector<Trace> parts;
  bool waiting = true;  // for the step that begins an attempt
  std::vector<bool> gone(run.scenario.nodes.size());
  for (const StepRecord& step : run.steps) {
    const bool begins = parts.empty() || (waiting && begins_attempt(step));
    if (waiting && begins) {
      Trace part;
      part.scenario = run.scenario;
      become(Attempt{static_cast<std::uint32_t>(parts.size())}, run, part);
      part.gone = gone;
      part.nodes = run.nodes;
      part.ran_out_of_events = run.ran_out_of_events;
      part.ranks_began = run.ranks_began;
      part.is_last = true;
      parts.push_back(std::move(part));
      waiting = false;
    }
    note_gone(step, gone);
    if (waiting) continue;
    parts.back().steps.push_back(step);
    if (find_action<action::Restart>(step) != nullptr) {
      parts.back().is_last = false;
      waiting = true;
    }
    // With a back-off of 0 the next attempt begins in the step in which this one ends.
    if (waiting && begins_attempt(step)) {
      waiting = false;
      Trace next = parts.back();
      become(Attempt{static_cast<std::uint32_t>(parts.size())}, run, next);
      next.gone = gone;
      next.steps.assign(1, step);
      next.is_last = true;
      auto& actions = next.steps.front().actions;
      std::erase_if(actions, [](const Action& action) { return !is_of_next(action); });
      next.steps.front().event.reset();
      auto& ending = parts.back().steps.back().actions;
      std::erase_if(ending, is_of_next);
      parts.push_back(std::move(next));
    }
  }
  return parts;
}

bool ended_in_wait(const Trace& run) {
  bool waiting = false;
  for (const StepRecord& step : run.steps) {
    if (find_action<action::Restart>(step) != nullptr) waiting = true;
    if (begins_attempt(step)) waiting = false;
    if (find_action<action::Finish>(step) != nullptr) return waiting;
  }
  return false;
}

}  // namespace dlaunch::sim
