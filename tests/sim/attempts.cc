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

void note(const Event& event, std::vector<Membership>& members) {
  if (const auto* ready = std::get_if<event::NodeReady>(&event)) {
    Membership& node = members.at(ready->node.value);
    if (node.gone && node.tried && ready->attempt != kStray) node = {false, true, true};
  }
  if (const auto* lost = std::get_if<event::NodeLost>(&event))
    members.at(lost->node.value).tried = false;
}

void note(const Action& action, std::vector<Membership>& members) {
  if (const auto* removed = std::get_if<action::RemoveNode>(&action))
    members.at(removed->node.value) = {true, false, false};
  if (const auto* released = std::get_if<action::ReleaseNode>(&action))
    members.at(released->node.value).tried = false;
  if (const auto* asked = std::get_if<action::GatherFacts>(&action))
    members.at(asked->node.value) = {};
  const auto* connect = std::get_if<action::ConnectNode>(&action);
  if (connect == nullptr) return;
  Membership& node = members.at(connect->node.value);
  node.tried = node.gone || node.joins;
}

bool is_wait(const action::Tell& told) {
  return told.line.starts_with("waiting up to ");
}

bool begins_attempt(const StepRecord& step) {
  return std::any_of(step.actions.begin(), step.actions.end(), is_of_next);
}

std::vector<Trace> attempts_of(const Trace& run) {
  std::vector<Trace> parts;
  bool waiting = true;  // for the step that begins an attempt
  std::vector<Membership> members(run.scenario.nodes.size());
  for (const StepRecord& step : run.steps) {
    const std::vector<Membership> before = waiting ? members : std::vector<Membership>();
    if (step.event) note(*step.event, members);
    for (const Action& action : step.actions) {
      if (!is_of_next(action)) note(action, members);
    }
    const bool begins = parts.empty() || (waiting && begins_attempt(step));
    if (waiting && begins) {
      Trace part;
      part.scenario = run.scenario;
      become(Attempt{static_cast<std::uint32_t>(parts.size())}, run, part);
      part.members = before;
      part.nodes = run.nodes;
      part.ran_out_of_events = run.ran_out_of_events;
      part.ranks_began = run.ranks_began;
      part.is_last = true;
      parts.push_back(std::move(part));
      waiting = false;
    }
    if (!waiting) parts.back().steps.push_back(step);
    if (!waiting && find_action<action::Restart>(step) != nullptr) {
      parts.back().is_last = false;
      waiting = true;
    }
    // With a back-off of 0 the next attempt begins in the step in which this one ends.
    if (waiting && begins_attempt(step)) {
      waiting = false;
      Trace next = parts.back();
      become(Attempt{static_cast<std::uint32_t>(parts.size())}, run, next);
      next.members = members;
      next.steps.assign(1, step);
      next.is_last = true;
      auto& actions = next.steps.front().actions;
      std::erase_if(actions, [](const Action& action) { return !is_of_next(action); });
      next.steps.front().event.reset();
      auto& ending = parts.back().steps.back().actions;
      std::erase_if(ending, is_of_next);
      parts.push_back(std::move(next));
    }
    for (const Action& action : step.actions) {
      if (is_of_next(action)) note(action, members);
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
