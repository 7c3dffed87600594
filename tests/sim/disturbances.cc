// What disturbs a run without being a loss.
#include <algorithm>
#include <cerrno>

#include "scenario.h"

namespace dlaunch::sim {
namespace {

using namespace std::chrono_literals;

/// An agent that gets no answer for so long fences its ranks; less leaves its launcher time.
constexpr MonotonicTime kMostUnfenced = 10s;

Span draw_span(Dice& dice, MonotonicTime latest, MonotonicTime most) {
  const MonotonicTime from = dice.time(0ns, latest);
  return {from, from + (dice.chance(0.5) ? dice.time(1us, 1s) : dice.time(0ns, most))};
}

/// Suspended for longer than the agents wait: all of them fence their ranks, and end.
void suspend_for_long(Dice& dice, Scenario& s, MonotonicTime latest) {
  const MonotonicTime from = dice.time(0ns, latest);
  s.pauses.push_back({from, from + dice.time(20s, 100s)});
  for (NodeFate& node : s.nodes) {
    Death fenced;
    fenced.at = from + kFence + dice.time(0ns, 1s);
    fenced.seen_after = 10us;
    fenced.returns_after = 0ns;
    node.deaths.push_back(fenced);
    std::stable_sort(node.deaths.begin(), node.deaths.end(),
                     [](const Death& a, const Death& b) { return a.at < b.at; });
  }
}

/// Half of them shortly before the ranks end: only what ends before the next heartbeat is misdated.
MonotonicTime draw_time_of_step(Dice& dice, MonotonicTime latest) {
  const MonotonicTime end = latest / 2;
  return dice.chance(0.5) ? dice.time(std::max(end - kClockUnknown, 0ns), end)
                          : dice.time(0ns, latest);
}

void draw_of_node(Dice& dice, NodeFate& node, MonotonicTime latest) {
  while (dice.chance(0.3) && node.outages.size() < 3)
    node.outages.push_back(draw_span(dice, latest, kMostUnfenced));
  while (dice.chance(0.15) && node.freezes.size() < 2)
    node.freezes.push_back(draw_span(dice, latest, kMostUnfenced));
  while (dice.chance(0.15) && node.clock_steps.size() < 2) {
    const MonotonicTime by = dice.chance(0.5) ? dice.time(1us, 1s) : dice.time(1s, 3600s);
    node.clock_steps.push_back({draw_time_of_step(dice, latest), dice.chance(0.5) ? by : -by});
  }
  for (Death& death : node.deaths) death.answers_not = dice.chance(0.1);
}

MonotonicTime sum_of(const std::vector<Span>& spans) {
  MonotonicTime sum{};
  for (const Span& span : spans) sum += span.to - span.from;
  return sum;
}

}  // namespace

MonotonicTime after(const std::vector<Span>& spans, MonotonicTime at) {
  for (bool is_hit = true; is_hit;) {
    is_hit = false;
    for (const Span& span : spans) {
      if (at < span.from || at > span.to) continue;
      at = span.to + 1ns;
      is_hit = true;
    }
  }
  return at;
}

MonotonicTime Scenario::lateness() const {
  return launcher_lag + sum_of(pauses);
}

MonotonicTime Scenario::longest_disturbance() const {
  MonotonicTime sum = sum_of(pauses);
  for (const NodeFate& node : nodes) sum += 2 * (sum_of(node.outages) + sum_of(node.freezes));
  return sum;
}

bool Scenario::has_clock_steps() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeFate& node) { return !node.clock_steps.empty(); });
}

void draw_disturbances(Scenario& s, MonotonicTime all_end_at) {
  Dice dice(s.seed ^ 0x2545f4914f6cdd1d);
  s.pauses.clear();
  if (dice.chance(0.4)) return;
  const MonotonicTime latest = 2 * all_end_at;
  if (dice.chance(0.3)) s.pauses.push_back(draw_span(dice, latest, kMostUnfenced));
  if (dice.chance(0.05)) suspend_for_long(dice, s, latest);
  const double some = dice.chance(0.5) ? 0.5 : 1.0 / static_cast<double>(s.nodes.size());
  for (NodeFate& node : s.nodes) {
    if (dice.chance(some)) draw_of_node(dice, node, latest);
  }
  if (dice.chance(0.05)) {  // the launcher's own clock is set
    const ClockStep step{draw_time_of_step(dice, latest), dice.time(0s, 7200s) - 3600s};
    for (NodeFate& node : s.nodes) node.clock_steps.push_back(step);
  }
  if (!dice.chance(0.1)) return;
  for (RankFate& rank : s.ranks) {  // there is no room for what the agent writes for a rank
    if (dice.chance(0.5)) rank.start_failure = {StartFailure::Step::resources, ENOSPC, "open", ""};
  }
}

}  // namespace dlaunch::sim
