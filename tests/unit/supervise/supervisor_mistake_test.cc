// A supervisor with a bug: rows of its lifecycle are missing. The run must still end.
#include <algorithm>

#include "script.h"

namespace dlaunch {
namespace {

std::vector<Transition> without(Phase from, Step step) {
  std::vector<Transition> table(lifecycle().begin(), lifecycle().end());
  std::erase_if(table, [&](const Transition& t) { return t.from == from && t.step == step; });
  return table;
}

void begin(Script& run) {
  (void)run.start();
  (void)run.ready(0);
  (void)run.ready(1);
  (void)run.plan({0, 1});
}

TEST(SupervisorMistake, AMissingStepKillsEverythingAndEndsTheRun) {
  const auto table = without(Phase::run, Step::halted);
  Script run(config(2), table);
  begin(run);
  EXPECT_EQ(run.at(seconds(1)).cancel(SIGINT),
            "kill 0; kill 1; release 0; release 1; "
            "finish internal 70 \"the phase \"run\" has no step \"halted\"\"");
  EXPECT_TRUE(run.supervisor().done());
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorMistake, SoDoesOneThatIsMissingAtTheEndOfAnAttempt) {
  const auto table = without(Phase::stop, Step::failed);
  SupervisorConfig settings = config(2);
  settings.restart.max = 1;
  Script run(settings, table);
  begin(run);
  (void)run.at(seconds(1)).exited(0, code(3));
  (void)run.empty(0);
  (void)run.exited(1, signal(SIGTERM));
  const std::string end = run.empty(1);
  EXPECT_THAT(end, testing::EndsWith("release 0; release 1; finish internal 70 \"the phase "
                                     "\"stop\" has no step \"failed\"\""));
  EXPECT_EQ(run.report().earlier.size(), 1u);
}

TEST(SupervisorMistake, WhereAnySingleStepIsMissingEveryRunEnds) {
  for (const Transition& row : lifecycle()) {
    const auto table = without(row.from, row.step);
    SupervisorConfig settings = config(2);
    settings.restart.max = 1;
    Script run(settings, table);
    begin(run);
    (void)run.at(seconds(1)).lost(0);
    (void)run.exited(1, code(3));
    (void)run.empty(1);
    (void)run.at(seconds(2)).cancel(SIGINT);
    (void)run.cancel(SIGINT);
    for (int ticks = 0; ticks < 10 && run.deadline(); ++ticks)
      (void)run.at(std::chrono::ceil<milliseconds>(*run.deadline())).tick();
    EXPECT_TRUE(run.supervisor().done()) << name_of(row.from) << ' ' << name_of(row.step);
  }
}

}  // namespace
}  // namespace dlaunch
