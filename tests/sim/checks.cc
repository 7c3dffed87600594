#include "checks.h"

#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "attempts.h"

namespace dlaunch::sim {
namespace {

/// Just the report, which points into the run.
Part end_of_wait(const Trace& run) {
  Part part;
  part.is_wait = true;
  for (const StepRecord& step : run.steps) {
    if (const auto* finish = find_action<action::Finish>(step))
      part.digest.report = &finish->report;
  }
  return part;
}

/// "NodeLost", from "... [with Type = dlaunch::event::NodeLost; ...]" of GCC or Clang.
template <class Type>
std::string name_of_type() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Type = "));
  text = text.substr(0, text.find_first_of(";]"));
  return std::string(text.substr(text.rfind(':') + 1));
}

template <class Variant, std::size_t... Index>
void add_names(const std::array<std::uint64_t, sizeof...(Index)>& counts,
               std::index_sequence<Index...> /*all*/, std::map<std::string, std::uint64_t>& out) {
  (out.emplace(name_of_type<std::variant_alternative_t<Index, Variant>>(), counts[Index]), ...);
}

}  // namespace

std::vector<Part> parts_of(const Trace& run) {
  std::vector<Part> parts;
  for (Trace& part : attempts_of(run)) {
    Digest d = digest(part);
    parts.push_back({std::move(part), std::move(d)});
  }
  if (ended_in_wait(run)) parts.push_back(end_of_wait(run));
  return parts;
}

void Coverage::count(const Trace& run) {
  ++runs_;
  for (const StepRecord& step : run.steps) {
    if (step.event) ++events_[step.event->index()];
    for (const Action& action : step.actions) ++actions_[action.index()];
  }
}

std::map<std::string, std::uint64_t> Coverage::seen() const {
  std::map<std::string, std::uint64_t> all;
  add_names<Event>(events_, std::make_index_sequence<kEvents>(), all);
  add_names<Action>(actions_, std::make_index_sequence<kActions>(), all);
  return all;
}

void Coverage::record() const {
  testing::Test::RecordProperty("runs", std::to_string(runs_));
  for (const auto& [name, count] : seen())
    testing::Test::RecordProperty(name, std::to_string(count));
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> never;
  for (const auto& [name, count] : seen()) {
    if (count == 0) never.push_back(name);
  }
  return never;
}

RunReport check(const Trace& run, Coverage& coverage, const char* which) {
  const Scenario& scenario = run.scenario;
  coverage.count(run);
  const std::string where = "seed " + std::to_string(scenario.seed) + which + ", " +
                            std::to_string(scenario.nodes.size()) + " nodes, " +
                            std::to_string(scenario.ranks.size()) + " ranks";
  const std::vector<Part> parts = parts_of(run);
  for (const Part& part : parts) {
    if (part.is_wait) continue;
    for (const Invariant& invariant : invariants()) {
      const Finding finding = invariant.check(part.trace, part.digest);
      EXPECT_FALSE(finding) << where << ", attempt " << part.trace.attempt.value << ": "
                            << invariant.name << ": " << *finding;
      if (part.trace.is_last && part.digest.finishes.size() != 1) return {};
    }
  }
  for (const RunInvariant& invariant : run_invariants()) {
    const Finding finding = invariant.check(run, parts);
    EXPECT_FALSE(finding) << where << ": " << invariant.name << ": " << *finding;
  }
  return *parts.back().digest.report;
}

Scenario cancelled_twice(Scenario scenario, MonotonicTime took) {
  Dice dice(scenario.seed);
  const MonotonicTime at = dice.time({}, took);
  scenario.interruptions = {{at, dice.chance(0.3) ? 0 : SIGINT},
                            {at + dice.time({}, std::chrono::seconds(3)), SIGTERM}};
  return scenario;
}

}  // namespace dlaunch::sim
