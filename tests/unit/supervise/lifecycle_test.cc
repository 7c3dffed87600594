#include "supervise/lifecycle.h"

#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Lifecycle, EachPhaseAndStepHasAtMostOneSuccessor) {
  std::set<std::pair<Phase, Step>> seen;
  for (const Transition& t : lifecycle()) {
    EXPECT_TRUE(seen.insert({t.from, t.step}).second) << name_of(t.from);
    EXPECT_EQ(next_phase(t.from, t.step), t.to);
  }
}

TEST(Lifecycle, EveryPhaseCanBeReachedAndLeadsToDone) {
  std::set<Phase> reached = {Phase::connect};
  for (std::size_t round = 0; round < lifecycle().size(); ++round) {
    for (const Transition& t : lifecycle()) {
      if (reached.contains(t.from)) reached.insert(t.to);
    }
  }
  EXPECT_EQ(reached.size(), 7u);

  std::set<Phase> ends = {Phase::done};
  for (std::size_t round = 0; round < lifecycle().size(); ++round) {
    for (const Transition& t : lifecycle()) {
      if (ends.contains(t.to)) ends.insert(t.from);
    }
  }
  EXPECT_EQ(ends, reached);
}

TEST(Lifecycle, ARunThatEndsWellIsNeverStopped) {
  Phase phase = Phase::connect;
  std::string way;
  for (const Step step : {Step::connected, Step::planned, Step::emptied, Step::collected}) {
    phase = next_phase(phase, step).value();
    way += std::string(" ") + name_of(phase);
  }
  EXPECT_EQ(way, " plan run collect done");
}

TEST(Lifecycle, DoneIsFinal) {
  for (const Transition& t : lifecycle()) EXPECT_NE(t.from, Phase::done);
}

TEST(Lifecycle, SomeStepsCannotBeTakenInAPhase) {
  EXPECT_EQ(next_phase(Phase::stop, Step::halted), std::nullopt);
  EXPECT_EQ(next_phase(Phase::run, Step::connected), std::nullopt);
}

TEST(Lifecycle, ACancelOrALimitEndsEveryPhaseButThoseThatEndAnyway) {
  for (const Phase phase : {Phase::connect, Phase::plan, Phase::run, Phase::wait})
    EXPECT_TRUE(next_phase(phase, Step::halted)) << name_of(phase);
}

TEST(Lifecycle, PhasesAndStepsHaveNames) {
  EXPECT_STREQ(name_of(Phase::collect), "collect");
  EXPECT_STREQ(name_of(Step::relost), "relost");
}

}  // namespace
}  // namespace dlaunch
