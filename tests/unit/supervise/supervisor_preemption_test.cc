#include "script.h"
#include "supervise/preemption.h"

namespace dlaunch {
namespace {

event::Preempted notice(std::uint32_t node, std::optional<Duration> left,
                        std::uint32_t attempt = 0) {
  return {Attempt(attempt), NodeId(node), "Spot", left};
}

SupervisorConfig restarted(std::uint32_t nodes) {
  SupervisorConfig c = config(nodes);
  c.restart.max = 2;
  return c;
}

TEST(GraceAfterNotice, LeavesTimeToKillAndToTell) {
  EXPECT_EQ(grace_after_notice(seconds(120), seconds(30)), seconds(117));
  EXPECT_EQ(grace_after_notice(seconds(20), seconds(30)), seconds(18));
  EXPECT_EQ(grace_after_notice(seconds(5), seconds(30)), seconds(4));
  EXPECT_EQ(grace_after_notice(milliseconds(300), seconds(30)), seconds(0));
  EXPECT_EQ(grace_after_notice(std::nullopt, seconds(30)), seconds(30));
}

// 158: 128 + SIGPWR, see model/result.h.
TEST(SupervisorPreemption, RanksGetTheTimeThereIsAndTheRunEndsWith158) {
  Script run(config(2), {0, 1});
  EXPECT_EQ(run.at(seconds(100)).on(notice(1, seconds(120))),
            "stop 0 with 15; stop 1 with 15; tell \"node 1 is about to be taken away (Spot) in 2 "
            "min, stopping 2 ranks (SIGTERM, up to 1 min 57 s)\"");
  EXPECT_EQ(run.deadline(), seconds(217));
  (void)run.exited(0, code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(217)).tick(), "kill 1");
  (void)run.exited(1, signal(SIGKILL));
  EXPECT_EQ(
      run.empty(1),
      "release 0; release 1; finish preempted 158 \"node 1 is about to be taken away (Spot)\"");
  EXPECT_EQ(run.report().outcome.preempted, std::vector{NodeId(1)});
}

TEST(SupervisorPreemption, AnUnknownTimeIsThatOfAnyStop) {
  Script run(config(1), {0});
  (void)run.at(seconds(100)).on(notice(0, std::nullopt));
  EXPECT_EQ(run.deadline(), seconds(130));
}

TEST(SupervisorPreemption, NothingFollowsWithoutANodeInItsPlace) {
  Script run(restarted(2), {0, 1});
  (void)run.at(seconds(100)).on(notice(1, seconds(60)));
  (void)run.exited(0, signal(SIGTERM));
  (void)run.exited(1, signal(SIGTERM));
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1),
            "tell \"no restart: no node is left to replace the one that is taken away\"; release "
            "0; release "
            "1; finish preempted 158 \"node 1 is about to be taken away (Spot)\"");
}

TEST(SupervisorPreemption, AJobThatMayShrinkGoesOnWithTheOthers) {
  SupervisorConfig c = restarted(2);
  c.nodes_wanted = 2;
  c.nodes_needed = 1;
  Script run(c, {0, 1});
  (void)run.at(seconds(100)).on(notice(1, seconds(60)));
  (void)run.exited(0, signal(SIGTERM));
  (void)run.exited(1, signal(SIGTERM));
  (void)run.empty(0);
  const std::string restarts = run.empty(1);
  EXPECT_TRUE(restarts.starts_with("attempt 1 follows; ")) << restarts;
  EXPECT_TRUE(restarts.ends_with("; remove 1")) << restarts;
}

TEST(SupervisorPreemption, AnotherNodeTakesItsPlace) {
  Script run(restarted(3), {0, 1});
  (void)run.at(seconds(100)).on(notice(1, seconds(60)));
  (void)run.exited(0, signal(SIGTERM));
  (void)run.exited(1, signal(SIGTERM));
  (void)run.empty(0);
  const std::string restarts = run.empty(1);
  EXPECT_TRUE(
      restarts.starts_with("attempt 1 follows; tell \"node 1 is about to be taken away "
                           "(Spot) after 1 min 40 s; restart 1 of 2"))
      << restarts;
  EXPECT_TRUE(restarts.ends_with("; remove 1")) << restarts;
  EXPECT_EQ(run.at(seconds(200)).tick(), "gather 0 for 1; gather 2 for 1");
}

TEST(SupervisorPreemption, ASecondNoticeOnlyShortensTheTime) {
  Script run(config(2), {0, 1});
  (void)run.at(seconds(100)).on(notice(1, seconds(120)));
  EXPECT_EQ(run.at(seconds(101)).on(notice(0, seconds(20))), "");
  EXPECT_EQ(run.deadline(), seconds(119));
  EXPECT_EQ(run.on(notice(0, seconds(500))), "");
  EXPECT_EQ(run.deadline(), seconds(119));
  (void)run.exited(0, code(0));
  (void)run.exited(1, code(0));
  (void)run.empty(0);
  (void)run.empty(1);
  EXPECT_EQ(run.report().outcome.preempted, (std::vector{NodeId(1), NodeId(0)}));
}

TEST(SupervisorPreemption, WithoutRanksOrOfAnotherAttemptItMeansNothing) {
  Script run(config(1), {0});
  EXPECT_EQ(run.on(notice(0, seconds(5), 1)), "");
  EXPECT_EQ(run.on(notice(7, seconds(5))), "");
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.on(notice(0, seconds(5))), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorPreemption, ACancelHurriesIt) {
  Script run(restarted(3), {0});
  (void)run.at(seconds(100)).on(notice(0, seconds(120)));
  EXPECT_EQ(run.cancel(SIGINT), "kill 0; tell \"killing 1 rank now\"");
  (void)run.exited(0, signal(SIGKILL));
  EXPECT_NE(run.empty(0).find("finish preempted 158"), std::string::npos);
}

}  // namespace
}  // namespace dlaunch
