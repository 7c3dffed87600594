// The phases of a run and how one follows another, as data. supervisor.cc does the work of entering
// a phase; this file alone decides whether one is entered.
#pragma once

#include <optional>
#include <span>

namespace dlaunch {

enum class Phase {
  connect,  // channels are being opened, facts for the attempt are gathered
  plan,     // all nodes are there, the plan of the attempt is being made
  run,      // ranks are being started or run
  stop,     // it is decided how the attempt ends; ranks are told to stop, then killed
  wait,     // back-off: the attempt has failed, no rank is left anywhere, another one follows
  collect,  // no rank is left anywhere; the nodes' output is fetched
  done,     // Finish was returned
};

/// What moves a run on.
enum class Step {
  connected,  // every node has answered
  planned,    // there is a plan
  halted,     // it ends before its ranks have ended: failure, lost node, limit, cancel, no plan
  emptied,    // every node with ranks is empty or lost, and that was the last attempt
  failed,     // every node is empty, and another attempt follows
  waited,     // the back-off is over
  relost,     // a node is lost again, before the ranks of another attempt have started
  collected,  // nothing is left to fetch from the nodes
};

struct Transition {
  Phase from;
  Step step;
  Phase to;
  bool operator==(const Transition&) const = default;
};

/// The whole table, each (from, step) at most once.
[[nodiscard]] std::span<const Transition> lifecycle();

/// nullopt: this phase does not allow the step. That is a bug of the caller, and it must end the
/// run: the dropped step may be the only one that would have moved it on.
[[nodiscard]] std::optional<Phase> next_phase(Phase, Step,
                                              std::span<const Transition> table = lifecycle());

[[nodiscard]] const char* name_of(Phase);
[[nodiscard]] const char* name_of(Step);

}  // namespace dlaunch
