#include "script.h"
#include "supervise/wording.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

SupervisorConfig limited(std::uint32_t nodes) {
  SupervisorConfig c = config(nodes);
  c.run_limit = std::chrono::hours(1);
  return c;
}

// timeout(1): 124.
TEST(SupervisorLimits, RunLimitStopsWith124) {
  Script run(limited(1), {0, 0});
  EXPECT_EQ(run.deadline(), seconds(3600));
  EXPECT_EQ(
      run.at(seconds(3600)).tick(),
      "stop 0 with 15; tell \"time limit of 1 h reached, stopping 2 ranks (SIGTERM, up to 30 s)\"");
  EXPECT_EQ(run.deadline(), seconds(3630));
  (void)run.at(seconds(3601)).exited(0, signal(SIGTERM));
  (void)run.exited(1, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish time-limit 124 \"\"");
}

TEST(SupervisorLimits, RunLimitCountsFromTheStartOfRanks) {
  Script run(limited(1));
  (void)run.start();
  (void)run.at(seconds(20)).ready(0);
  (void)run.at(seconds(25)).plan({0});
  EXPECT_EQ(run.deadline(), seconds(3625));
}

TEST(SupervisorLimits, RunLimitEndsWithTheLastRank) {
  Script run(limited(1), {0});
  (void)run.at(seconds(3599)).exited(0, code(0));
  EXPECT_EQ(run.at(seconds(3601)).tick(), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorLimits, AFailureInTheMomentOfTheLimitComesFirst) {
  Script run(limited(1), {0, 0});
  EXPECT_EQ(run.at(seconds(3600)).exited(0, code(1)), "stop 0 with 15");
  EXPECT_EQ(run.tick(), "");
}

TEST(SupervisorLimits, ACancelWhileALimitStopsTheRunHurries) {
  Script run(limited(1), {0});
  (void)run.at(seconds(3600)).tick();
  EXPECT_EQ(run.at(seconds(3601)).cancel(SIGINT), "kill 0; tell \"killing 1 rank now\"");
  (void)run.exited(0, signal(SIGKILL));
  EXPECT_EQ(run.empty(0), "release 0; finish time-limit 124 \"\"");
}

event::Hang hang(std::uint32_t attempt = 0) {
  return {Attempt(attempt), seconds(60), wording::no_progress(seconds(60))};
}

TEST(SupervisorLimits, AHangStopsTheRanksWith124) {
  Script run(config(1), {0, 0});
  EXPECT_EQ(run.at(seconds(100)).on(hang()),
            "stop 0 with 15; tell \"no rank made progress for 1 min (timeouts.hang), "
            "stopping 2 ranks (SIGTERM, up to 30 s)\"");
  EXPECT_EQ(run.at(seconds(130)).tick(), "kill 0");
  (void)run.exited(0, signal(SIGKILL));
  (void)run.exited(1, signal(SIGKILL));
  EXPECT_EQ(run.empty(0),
            "release 0; finish hang 124 \"no rank made progress for 1 min (timeouts.hang)\"");
  EXPECT_EQ(run.report().outcome.limit, Duration(seconds(60)));
}

TEST(SupervisorLimits, AHangOfAnotherAttemptOrWithoutRanksMeansNothing) {
  Script run(config(1), {0});
  EXPECT_EQ(run.on(hang(1)), "");
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.on(hang()), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorLimits, AFailureBeforeTheHangStands) {
  Script run(config(1), {0, 0});
  (void)run.exited(0, code(3));
  EXPECT_EQ(run.on(hang()), "");
  (void)run.exited(1, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 3 \"\"");
}

TEST(SupervisorLimits, AHangIsRestartedOnlyIfTheJobWantsIt) {
  for (const bool wants : {true, false}) {
    SupervisorConfig limits = config(1);
    limits.restart.max = 2;
    limits.restart.on = {wants ? RestartCause::hang : RestartCause::failure};
    Script run(limits, {0});
    (void)run.at(seconds(100)).on(hang());
    (void)run.at(seconds(101)).exited(0, signal(SIGTERM));
    const std::string what = "no rank made progress for 1 min (timeouts.hang)";
    EXPECT_EQ(
        run.empty(0),
        wants ? "attempt 1 follows; tell \"" + what + " after 1 min 40 s; restart 1 of 2 in 5 s\""
              : "tell \"no restart: restart.on does not include \"hang\"\"; release 0; "
                "finish hang 124 \"" +
                    what + "\"");
  }
}

TEST(SupervisorLimits, NoLimitNoDeadline) {
  Script run(config(1), {0});
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorLimits, ALimitBeyondTheClockIsNone) {
  SupervisorConfig c = config(1);
  c.run_limit = Duration::max();
  c.stop_grace = Duration::max();
  Script run(c, {0});
  EXPECT_EQ(run.at(seconds(1'000'000)).tick(), "");
  (void)run.cancel(SIGINT);
  EXPECT_EQ(run.at(seconds(2'000'000)).tick(), "");
}

TEST(SupervisorLimits, ANodeThatIsNotEmptyAfterTheKillCountsAsLost) {
  Script run(config(2), {0, 1});
  (void)run.exited(0, code(1));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(30)).tick(), "kill 1");
  EXPECT_EQ(run.deadline(), seconds(40));
  // The channel is still open, so the node is released as well.
  EXPECT_EQ(run.at(seconds(40)).tick(), "release 0; release 1; finish exit-code 1 \"\"");
  EXPECT_EQ(run.how(1), How::lost);
}

TEST(SupervisorLimits, ANodeThatDoesNotGetEmptyByItselfIsKilledThenLost) {
  Script run(config(2), {0, 1});
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.deadline(), seconds(10));
  (void)run.at(seconds(4)).exited(1, code(0));
  EXPECT_EQ(run.at(seconds(10)).tick(), "kill 0");
  EXPECT_EQ(run.at(seconds(14)).tick(), "kill 1");
  (void)run.at(seconds(15)).empty(1);
  EXPECT_EQ(run.deadline(), seconds(20));
  EXPECT_EQ(run.at(seconds(20)).tick(),
            "release 0; release 1; finish node-lost 69 "
            "\"did not confirm within 10 s of SIGKILL that every process is gone\"");
  EXPECT_EQ(run.report().outcome.lost_nodes.front().node, NodeId{0});
  EXPECT_EQ(run.how(0), How::exited);
}

TEST(SupervisorLimits, EmptyNodesLeaveNoDeadline) {
  Script run(config(2), {0, 1});
  (void)run.exited(0, code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorLimits, LimitsAreEnforcedWithAnyEvent) {
  Script run(config(1), {0, 0});
  (void)run.exited(0, code(1));
  EXPECT_EQ(run.at(seconds(31)).rank_started(1), "kill 0");
}

// A cancel without effect may arrive any number of times.
TEST(SupervisorLimits, OneNodeIsKilledOnce) {
  SupervisorConfig c = config(1);
  c.stop_grace = seconds(60);
  Script run(c, {0, 0});
  (void)run.exited(0, code(1));
  (void)run.at(seconds(1)).exited(1, signal(SIGTERM));
  EXPECT_EQ(run.at(seconds(11)).tick(), "kill 0");
  EXPECT_EQ(run.at(seconds(12)).cancel(SIGINT), "");
  EXPECT_EQ(run.at(seconds(21)).tick(), "release 0; finish exit-code 1 \"\"");
}

}  // namespace
}  // namespace dlaunch
