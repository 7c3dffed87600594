#include "script.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

/// Ranks 0 and 1 decide, rank 2 (a parameter server) never ends by itself.
Script with_server(SupervisorConfig c = config(1)) {
  Script run(c);
  (void)run.start();
  (void)run.ready(0);
  (void)run.plan({0, 0, 0}, {true, true, false});
  for (const std::uint32_t rank : {0U, 1U, 2U}) (void)run.rank_started(rank);
  return run;
}

TEST(SupervisorSuccess, TheOthersAreStoppedWhenTheDecidingRanksAreDone) {
  Script run = with_server();
  EXPECT_EQ(run.at(seconds(1)).exited(0, code(0)), "");
  EXPECT_EQ(run.at(seconds(2)).exited(1, code(0)),
            "stop 0 with 15; tell \"the job is done, stopping 1 rank (SIGTERM, up to 30 s)\"");
  (void)run.at(seconds(3)).exited(2, code(1));
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
  EXPECT_EQ(run.how(2), How::stopped);
}

TEST(SupervisorSuccess, HoweverTheOthersEndIsNoFailure) {
  Script run = with_server();
  (void)run.exited(0, code(0));
  (void)run.at(seconds(1)).exited(1, code(0));
  EXPECT_EQ(run.at(seconds(31)).tick(), "kill 0");
  (void)run.at(seconds(32)).exited(2, signal(SIGKILL));
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
  EXPECT_EQ(run.how(2), How::killed);
}

TEST(SupervisorSuccess, AServerThatCrashesAsTheStopComesIsNoFailureEither) {
  Script run = with_server();
  (void)run.exited(0, code(0));
  (void)run.at(seconds(2)).exited(1, code(0));
  EXPECT_EQ(run.exited(2, signal(SIGSEGV), seconds(1)), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorSuccess, AServerThatFailsWhileWorkersRunIsAFailure) {
  Script run = with_server();
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.at(seconds(1)).exited(2, code(3)), "stop 0 with 15");
  (void)run.at(seconds(2)).exited(1, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 3 \"\"");
}

TEST(SupervisorSuccess, AServerThatEndsWellDecidesNothing) {
  Script run = with_server();
  EXPECT_EQ(run.exited(2, code(0)), "");
  EXPECT_EQ(run.exited(0, code(0)), "");
  EXPECT_EQ(run.exited(1, code(0)), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorSuccess, AServerThatWasNeverStartedIsNoFailure) {
  Script run = with_server();
  (void)run.exited(0, code(0));
  (void)run.exited(1, code(0));
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorSuccess, ANodeThatGoesWithItsServersIsNoFailure) {
  Script run(config(2));
  (void)run.start();
  (void)run.ready(0);
  (void)run.ready(1);
  (void)run.plan({0, 1}, {true, false});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  (void)run.exited(0, code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.lost(1), "release 0; finish success 0 \"\"");
}

TEST(SupervisorSuccess, SuccessIsNeverRestarted) {
  SupervisorConfig c = config(1);
  c.restart.max = 3;
  Script run = with_server(c);
  (void)run.exited(0, code(0));
  (void)run.exited(1, code(0));
  (void)run.at(seconds(1)).exited(2, code(9));
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

// ---- timeouts.stragglers_after_success

SupervisorConfig impatient() {
  SupervisorConfig c = config(1);
  c.stragglers_limit = seconds(60);
  return c;
}

TEST(SupervisorStragglers, StoppedSoLongAfterTheFirstGoodEnd) {
  Script run(impatient(), {0, 0, 0, 0});
  EXPECT_EQ(run.deadline(), std::nullopt);
  (void)run.at(seconds(10)).exited(3, code(0));
  (void)run.at(seconds(20)).exited(1, code(0));
  EXPECT_EQ(run.deadline(), seconds(70));
  EXPECT_EQ(run.at(seconds(70)).tick(),
            "stop 0 with 15; tell \"2 ranks are still running 1 min after the first one succeeded, "
            "stopping 2 ranks (SIGTERM, up to 30 s)\"");
  (void)run.at(seconds(71)).exited(0, signal(SIGTERM));
  (void)run.exited(2, code(0));
  EXPECT_EQ(run.empty(0), "release 0; finish stragglers 124 \"\"");
  EXPECT_EQ(run.report().outcome.stragglers, (std::vector<Rank>{Rank{0}, Rank{2}}));
}

TEST(SupervisorStragglers, NoneWhenAllAreDoneInTime) {
  Script run(impatient(), {0, 0});
  (void)run.at(seconds(10)).exited(0, code(0));
  (void)run.at(seconds(69)).exited(1, code(0));
  EXPECT_EQ(run.at(seconds(70)).tick(), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorStragglers, AFailureComesFirst) {
  Script run(impatient(), {0, 0});
  (void)run.at(seconds(10)).exited(0, code(0));
  (void)run.at(seconds(70)).exited(1, code(5));
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 5 \"\"");
}

}  // namespace
}  // namespace dlaunch
