#include "supervise/lifecycle.h"

#include <array>

namespace dlaunch {
namespace {

// Before ranks exist there is nothing to stop, so a halt goes straight to the end.
constexpr std::array kLifecycle = {
    Transition{Phase::connect, Step::connected, Phase::plan},
    Transition{Phase::connect, Step::halted, Phase::done},
    Transition{Phase::plan, Step::planned, Phase::run},
    Transition{Phase::plan, Step::halted, Phase::done},
    Transition{Phase::plan, Step::relost, Phase::connect},
    Transition{Phase::run, Step::emptied, Phase::collect},
    Transition{Phase::run, Step::halted, Phase::stop},
    Transition{Phase::stop, Step::emptied, Phase::collect},
    Transition{Phase::stop, Step::failed, Phase::wait},
    Transition{Phase::wait, Step::waited, Phase::connect},
    Transition{Phase::wait, Step::halted, Phase::collect},
    Transition{Phase::collect, Step::collected, Phase::done},
};

}  // namespace

std::span<const Transition> lifecycle() {
  return kLifecycle;
}

std::optional<Phase> next_phase(Phase from, Step step, std::span<const Transition> table) {
  for (const Transition& t : table) {
    if (t.from == from && t.step == step) return t.to;
  }
  return std::nullopt;
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::connect:
      return "connect";
    case Phase::plan:
      return "plan";
    case Phase::run:
      return "run";
    case Phase::stop:
      return "stop";
    case Phase::wait:
      return "wait";
    case Phase::collect:
      return "collect";
    case Phase::done:
      return "done";
  }
  return "";
}

const char* name_of(Step step) {
  switch (step) {
    case Step::connected:
      return "connected";
    case Step::planned:
      return "planned";
    case Step::halted:
      return "halted";
    case Step::emptied:
      return "emptied";
    case Step::failed:
      return "failed";
    case Step::waited:
      return "waited";
    case Step::relost:
      return "relost";
    case Step::collected:
      return "collected";
  }
  return "";
}

}  // namespace dlaunch
