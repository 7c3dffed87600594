#include "script.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

SupervisorConfig restarting(std::uint32_t nodes, int max) {
  SupervisorConfig c = config(nodes);
  c.restart.max = max;
  return c;
}

/// The next attempt from its wait to its running ranks.
void go_on(Script& run, std::uint32_t attempt, milliseconds when,
           const std::vector<std::uint32_t>& node_of_rank) {
  EXPECT_EQ(run.at(when).tick(), "gather 0 for " + std::to_string(attempt));
  EXPECT_EQ(run.attempt(attempt).ready(0), "plan " + std::to_string(attempt));
  EXPECT_EQ(run.plan(node_of_rank), "start 0");
  for (std::uint32_t i = 0; i < node_of_rank.size(); ++i) (void)run.rank_started(i);
}

TEST(SupervisorRestart, AnotherAttemptAfterTheWaitWithFreshFacts) {
  Script run(restarting(1, 3), {0, 0});
  EXPECT_EQ(run.at(seconds(12)).exited(1, code(7)), "stop 0 with 15");
  (void)run.at(seconds(13)).exited(0, signal(SIGTERM));
  EXPECT_EQ(
      run.empty(0),
      "attempt 1 follows; tell \"rank 1 exited with code 7 after 12.0 s; restart 1 of 3 in 5 s\"");
  EXPECT_EQ(run.deadline(), seconds(18));
  EXPECT_EQ(run.at(milliseconds(17'999)).tick(), "");
  go_on(run, 1, seconds(18), {0, 0});
  (void)run.at(seconds(20)).exited(0, code(0));
  (void)run.exited(1, code(0));
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
  EXPECT_EQ(run.report().attempt, Attempt{1});
  ASSERT_EQ(run.report().earlier.size(), 1u);
  const FailedAttempt& failed = run.report().earlier[0];
  EXPECT_EQ(failed.attempt, Attempt{0});
  EXPECT_EQ(failed.outcome.first, Rank{1});
  EXPECT_EQ(failed.outcome.exit_code, 7);
  EXPECT_EQ(failed.end->status, code(7));
  EXPECT_EQ(failed.ran, seconds(12));
  EXPECT_EQ(failed.wait, seconds(5));
  EXPECT_EQ(failed.unnoticed, std::nullopt);
  EXPECT_EQ(failed.stopped, seconds(1));
  EXPECT_EQ(failed.again, seconds(6));
}

TEST(SupervisorRestart, TheFirstRestartWaitsForNothingAndTheTimeIsAccountedFor) {
  SupervisorConfig settings = restarting(1, 1);
  settings.restart.backoff_min = seconds(0);
  Script run(settings, {0});
  (void)run.at(seconds(2)).on(event::Progress{Attempt(0), 5});
  (void)run.at(seconds(10)).exited(0, code(7));
  EXPECT_EQ(run.at(seconds(12)).empty(0),
            "attempt 1 follows; tell \"rank 0 exited with code 7 after 10.0 s; restart 1 of 1 "
            "now\"; gather 0 for 1");
  EXPECT_EQ(run.at(seconds(13)).attempt(1).ready(0), "plan 1");
  EXPECT_EQ(run.plan({0}), "start 0");
  (void)run.at(seconds(14)).rank_started(0);
  (void)run.at(seconds(15)).on(event::Progress{Attempt(1), 4});
  (void)run.at(seconds(20)).on(event::Stall{Attempt(1), milliseconds(3000)});
  (void)run.at(seconds(21)).on(event::Progress{Attempt(1), 6});
  (void)run.at(seconds(30)).exited(0, code(0));
  (void)run.empty(0);
  const auto spent = [&](Spent line) { return run.report().spent[static_cast<std::size_t>(line)]; };
  EXPECT_EQ(spent(Spent::productive), seconds(8 + 9));
  EXPECT_EQ(spent(Spent::stopping), seconds(2));
  EXPECT_EQ(spent(Spent::restarting), seconds(2));
  EXPECT_EQ(spent(Spent::first_output), seconds(2 + 1));
  EXPECT_EQ(spent(Spent::recomputed), seconds(2));
  EXPECT_EQ(spent(Spent::stalled), seconds(4));
  EXPECT_EQ(run.report().earlier[0].steps_lost, 2u);
  EXPECT_EQ(run.report().earlier[0].again, seconds(4));
}

TEST(SupervisorRestart, TheLastAttemptsFirstFailureIsTheResult) {
  Script run(restarting(1, 1), {0});
  (void)run.exited(0, code(7));
  (void)run.empty(0);
  go_on(run, 1, seconds(5), {0});
  (void)run.at(seconds(6)).exited(0, code(9));
  EXPECT_EQ(run.empty(0),
            "tell \"no restart: restart.max of 1 is used up\"; release 0; finish exit-code 9 \"\"");
  EXPECT_EQ(run.report().earlier.size(), 1u);
  EXPECT_EQ(run.report().ranks.size(), 1u);
}

TEST(SupervisorRestart, NewsOfTheOldAttemptMeansNothingInTheNext) {
  Script run(restarting(1, 1), {0});
  (void)run.exited(0, code(7));
  (void)run.empty(0);
  go_on(run, 1, seconds(5), {0});
  EXPECT_EQ(run.on(event::RankExited{Attempt{0}, Rank{0}, code(3), wall_at(seconds(6))}), "");
  EXPECT_EQ(run.on(event::NodeEmpty{Attempt{0}, NodeId{0}, 1}), "");
  EXPECT_EQ(run.on(event::NodeReady{NodeId{0}, Attempt{0}}), "");
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
  EXPECT_EQ(run.report().leftovers, 0u);
}

TEST(SupervisorRestart, ACancelEndsTheWaitAtOnce) {
  Script run(restarting(1, 3), {0, 0});
  (void)run.exited(1, code(7));
  (void)run.exited(0, signal(SIGTERM));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(1)).cancel(SIGINT), "release 0; finish cancelled 130 \"\"");
  EXPECT_FALSE(run.report().outcome.from_rank);
  EXPECT_EQ(run.report().attempt, Attempt{0});
  EXPECT_EQ(run.report().earlier.size(), 1u);
  EXPECT_EQ(run.report().ranks.size(), 2u);
}

TEST(SupervisorRestart, ACancelWhileAFailedAttemptStopsPreventsTheNext) {
  Script run(restarting(1, 3), {0, 0});
  (void)run.exited(1, code(7));
  EXPECT_EQ(run.at(seconds(1)).cancel(SIGINT), "kill 0; tell \"killing 1 rank now\"");
  (void)run.at(seconds(2)).exited(0, signal(SIGKILL));
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 7 \"\"");
}

TEST(SupervisorRestart, ALostNodeThatIsNotWaitedForEndsTheWait) {
  SupervisorConfig c = restarting(1, 3);
  c.restart.on = {RestartCause::failure};
  Script run(c, {0});
  (void)run.exited(0, code(7));
  (void)run.empty(0);
  EXPECT_EQ(run.lost(0, "gone"), "finish node-lost 69 \"gone\"");
}

TEST(SupervisorRestart, ANodeThatWasGivenUpMayStillRunSomething) {
  Script run(restarting(2, 3), {0, 1});
  (void)run.exited(0, code(7));
  (void)run.empty(0);
  (void)run.at(seconds(30)).tick();
  EXPECT_EQ(run.at(seconds(40)).tick(),
            "tell \"no restart: a node did not confirm that its processes are gone\"; release 0; "
            "release 1; finish exit-code 7 \"\"");
}

TEST(SupervisorRestart, NodesWithoutRanksAreKeptForALaterPlan) {
  Script run(restarting(2, 3));
  (void)run.start();
  (void)run.ready(0);
  (void)run.ready(1);
  EXPECT_EQ(run.plan({0}), "start 0");
  (void)run.rank_started(0);
  (void)run.exited(0, code(1));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(5)).tick(), "gather 0 for 1; gather 1 for 1");
}

TEST(SupervisorRestart, APlanThatFailsEndsTheRun) {
  Script run(restarting(1, 3), {0});
  (void)run.exited(0, code(7));
  (void)run.empty(0);
  (void)run.at(seconds(5)).tick();
  (void)run.attempt(1).ready(0);
  EXPECT_EQ(run.on(event::PlanFailed{Error{exit_code::kPreflight, "port 1 is taken"}}),
            "release 0; finish plan 75 \"port 1 is taken\"");
  EXPECT_EQ(run.report().attempt, Attempt{1});
}

// ---- timeouts.run

TEST(SupervisorRestart, TheRunLimitCountsOverAllAttempts) {
  SupervisorConfig c = restarting(1, 3);
  c.run_limit = seconds(60);
  Script run(c, {0});
  (void)run.at(seconds(20)).exited(0, code(7));
  (void)run.empty(0);
  go_on(run, 1, seconds(25), {0});
  EXPECT_EQ(run.deadline(), seconds(60));
  (void)run.at(seconds(60)).tick();
  (void)run.at(seconds(61)).exited(0, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish time-limit 124 \"\"");
}

TEST(SupervisorRestart, AWaitThatWouldEndAfterTheRunLimitIsNotBegun) {
  SupervisorConfig c = restarting(1, 3);
  c.run_limit = seconds(10);
  Script run(c, {0});
  (void)run.at(seconds(5)).exited(0, code(7));
  EXPECT_EQ(run.empty(0),
            "tell \"no restart: the wait of 5 s would end after the time limit of 10 s\"; "
            "release 0; finish exit-code 7 \"\"");
}

// ---- ports

SupervisorConfig retrying(int max) {
  SupervisorConfig c = restarting(1, max);
  c.port_retries = 3;
  return c;
}

TEST(SupervisorRestart, ATakenPortIsTriedAgainAtOnceWithoutCost) {
  Script run(retrying(1), {0});
  EXPECT_EQ(run.port_taken(20001, "pid 8812 (nc, user eve)"), "");
  (void)run.exited(0, code(1));
  EXPECT_EQ(
      run.empty(0),
      "attempt 1 follows; tell \"port 20001 was taken by pid 8812 (nc, user eve) before the job "
      "could listen; trying another port\"; gather 0 for 1");
  (void)run.attempt(1).ready(0);
  (void)run.plan({0});
  (void)run.rank_started(0);
  (void)run.at(seconds(1)).exited(0, code(4));
  EXPECT_EQ(
      run.empty(0),
      "attempt 2 follows; tell \"rank 0 exited with code 4 after 1.0 s; restart 1 of 1 in 5 s\"");
  (void)run.cancel(SIGTERM);
  ASSERT_EQ(run.report().earlier.size(), 2u);
  EXPECT_EQ(run.report().earlier[0].outcome.cause, Cause::port_taken);
  EXPECT_EQ(run.report().earlier[0].outcome.port, (TakenPort{20001, "pid 8812 (nc, user eve)"}));
  EXPECT_EQ(run.report().earlier[1].outcome.cause, Cause::exit_code);
}

TEST(SupervisorRestart, AChosenPortThatIsTakenIsTheResult) {
  Script run(config(1), {0});
  (void)run.port_taken(29500, "pid 8812");
  (void)run.exited(0, code(1));
  EXPECT_EQ(run.empty(0), "release 0; finish port-taken 1 \"\"");
  EXPECT_TRUE(run.report().outcome.from_rank);
  EXPECT_EQ(run.report().outcome.port, (TakenPort{29500, "pid 8812"}));
}

TEST(SupervisorRestart, APortExplainsNoCancel) {
  Script run(retrying(0), {0, 0});
  (void)run.cancel(SIGINT);
  (void)run.port_taken(20001, "pid 1");
  (void)run.exited(0, code(1), milliseconds(0));
  (void)run.at(seconds(1)).exited(1, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish cancelled 130 \"\"");
}

// The launcher was busy: the node's limit has passed when the message arrives that it is empty.
TEST(SupervisorRestart, ANodeThatIsEmptyJustInTimeIsNotLost) {
  SupervisorConfig settings = config(1);
  settings.restart.max = 1;
  settings.restart.backoff_min = settings.restart.backoff_max = seconds(5);
  Script run(settings, {0, 0});
  (void)run.at(seconds(1)).exited(0, code(3));
  EXPECT_EQ(run.at(seconds(31)).tick(), "kill 0");
  (void)run.at(seconds(40)).exited(1, signal(SIGKILL));
  EXPECT_THAT(run.at(seconds(42)).empty(0), testing::StartsWith("attempt 1 follows; "));
  EXPECT_EQ(run.supervisor().phase(), Phase::wait);
}

}  // namespace
}  // namespace dlaunch
