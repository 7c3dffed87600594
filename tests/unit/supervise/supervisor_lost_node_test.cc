// A lost node and the restart policy: the run waits for it and reconnects it, or ends.
#include "script.h"

namespace dlaunch {
namespace {

SupervisorConfig waiting(std::uint32_t nodes, int max) {
  SupervisorConfig c = config(nodes);
  for (auto& [node, name] : c.nodes) name = "node" + std::to_string(node.value + 1);
  c.restart.max = max;
  c.return_limit = seconds(60);
  return c;
}

/// Node 1 of two is lost at 10 s, and node 0 is empty at once.
void lose_node(Script& run, milliseconds may_run_for = milliseconds(0)) {
  event::NodeLost lost{NodeId{1}, "gone"};
  lost.may_run_for = may_run_for;
  EXPECT_EQ(run.at(seconds(10)).on(lost), "stop 0 with 15");
  (void)run.exited(0, signal(SIGTERM), milliseconds(10'001));
  EXPECT_EQ(
      run.empty(0),
      "attempt 1 follows; tell \"node2 was lost (gone) after 10.0 s; restart 1 of 3 in 5 s\"");
}

constexpr const char* kWaiting = "tell \"waiting up to 1 min for node2 to answer again\"";
constexpr const char* kBack = "tell \"node2 answers again\"";

std::string waits(const std::string& before) {
  return before + "; " + kWaiting + "; connect 1";
}

/// The wait for the lost node has begun at 15 s; the other one is ready for the next attempt.
Script waiting_for_a_node() {
  Script run(waiting(2, 3), {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  return run;
}

/// Until the end of the second attempt.
void go_on(Script& run) {
  EXPECT_EQ(run.attempt(1).plan({0, 1}), "start 0; start 1");
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  (void)run.exited(0, code(0));
  (void)run.exited(1, code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish success 0 \"\"");
}

TEST(SupervisorLostNode, ANodeThatReturnsTakesPartInTheNextAttempt) {
  Script run(waiting(2, 3), {0, 1});
  lose_node(run);
  EXPECT_EQ(run.at(seconds(15)).tick(), waits("gather 0 for 1"));
  EXPECT_EQ(run.attempt(1).ready(0), "");
  EXPECT_EQ(run.at(seconds(17)).ready(1), std::string(kBack) + "; plan 1");
  go_on(run);
  ASSERT_EQ(run.report().earlier.size(), 1u);
  const FailedAttempt& failed = run.report().earlier[0];
  EXPECT_EQ(failed.outcome.cause, Cause::node_lost);
  EXPECT_EQ(failed.outcome.exit_code, exit_code::kNodeLost);
  EXPECT_EQ(failed.outcome.lost_nodes, (std::vector<LostNode>{{NodeId{1}, "gone"}}));
  EXPECT_EQ(failed.restart, 1u);
}

TEST(SupervisorLostNode, ItIsTriedAgainWithPauses) {
  Script run = waiting_for_a_node();
  EXPECT_EQ(run.at(seconds(16)).lost(1, "refused"), "");
  EXPECT_EQ(run.deadline(), milliseconds(16'500));
  EXPECT_EQ(run.at(milliseconds(16'500)).tick(), "connect 1");
  EXPECT_EQ(run.at(seconds(17)).lost(1, "refused"), "");
  EXPECT_EQ(run.at(seconds(18)).tick(), "connect 1");
  EXPECT_EQ(run.at(seconds(19)).ready(1), std::string(kBack) + "; plan 1");
  go_on(run);
}

TEST(SupervisorLostNode, OneThatDoesNotReturnEndsTheRunAndIsNamed) {
  Script run = waiting_for_a_node();
  (void)run.at(seconds(70)).lost(1, "Connection timed out");
  EXPECT_EQ(run.at(seconds(71)).tick(), "connect 1");
  EXPECT_EQ(run.at(seconds(75)).tick(),
            "release 0; release 1; finish node-lost 69 \"lost (gone), and it did not answer again "
            "within 1 min (timeouts.node_return); the last try: Connection timed out\"");
  ASSERT_EQ(run.report().outcome.lost_nodes.size(), 1u);
  EXPECT_EQ(run.report().outcome.lost_nodes[0].node, NodeId{1});
  EXPECT_EQ(run.report().attempt, Attempt{1});
  EXPECT_EQ(run.report().earlier.size(), 1u);
}

// The survivors' facts have their own limit, timeouts.connect; it does not end the wait.
TEST(SupervisorLostNode, TheLimitForFactsIsNotThatForTheReturn) {
  Script run = waiting_for_a_node();
  EXPECT_EQ(run.at(seconds(45)).tick(), "");
  EXPECT_EQ(run.at(seconds(50)).ready(1), std::string(kBack) + "; plan 1");
}

TEST(SupervisorLostNode, ASurvivorThatReportsNothingEndsTheRun) {
  Script run(waiting(2, 3), {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  EXPECT_EQ(run.at(seconds(45)).tick(),
            "release 0; release 1; finish node-lost 69 \"no answer within 30 s\"");
  EXPECT_EQ(run.report().outcome.lost_nodes[0].node, NodeId{0});
}

TEST(SupervisorLostNode, NothingIsConnectedWhileOldRanksMayRunThere) {
  Script run(waiting(2, 3), {0, 1});
  lose_node(run, seconds(13));
  EXPECT_EQ(run.at(seconds(15)).tick(), std::string("gather 0 for 1; ") + kWaiting);
  (void)run.attempt(1).ready(0);
  EXPECT_EQ(run.deadline(), seconds(23));
  EXPECT_EQ(run.at(milliseconds(22'999)).tick(), "");
  EXPECT_EQ(run.at(seconds(23)).tick(), "connect 1");
}

TEST(SupervisorLostNode, ALossWithoutRanksNeedsNoFence) {
  Script run(waiting(2, 3), {0, 1});
  lose_node(run);
  event::NodeLost lost{NodeId{0}, "gone too"};
  lost.may_run_for = seconds(13);
  EXPECT_EQ(run.at(seconds(11)).on(lost), "") << "it was empty";
  EXPECT_EQ(run.at(seconds(15)).tick(),
            "tell \"waiting up to 1 min for node1 and node2 to answer again\"; "
            "connect 0; connect 1");
}

TEST(SupervisorLostNode, TwoNodesAtOnce) {
  Script run(waiting(3, 3), {0, 1, 2});
  (void)run.at(seconds(10)).lost(1, "gone");
  EXPECT_EQ(run.lost(2, "gone too"), "");
  (void)run.exited(0, signal(SIGTERM), milliseconds(10'001));
  EXPECT_EQ(
      run.empty(0),
      "attempt 1 follows; tell \"node2 and node3 were lost after 10.0 s; restart 1 of 3 in 5 s\"");
  EXPECT_EQ(run.at(seconds(15)).tick(),
            "gather 0 for 1; tell \"waiting up to 1 min for node2 and node3 to answer again\"; "
            "connect 1; connect 2");
  (void)run.attempt(1).ready(0);
  EXPECT_EQ(run.ready(2), "tell \"node3 answers again\"");
  EXPECT_EQ(run.ready(1), std::string(kBack) + "; plan 1");
}

TEST(SupervisorLostNode, AllNodesLost) {
  Script run(waiting(1, 3), {0});
  EXPECT_EQ(run.at(seconds(10)).lost(0, "its agent was killed by SIGKILL"),
            "attempt 1 follows; tell \"node1 was lost (its agent was killed by SIGKILL) after "
            "10.0 s; restart 1 of 3 in 5 s\"");
  EXPECT_EQ(run.at(seconds(15)).tick(),
            "tell \"waiting up to 1 min for node1 to answer again\"; connect 0");
  EXPECT_EQ(run.attempt(1).ready(0), "tell \"node1 answers again\"; plan 1");
}

TEST(SupervisorLostNode, AnotherLossWhileOneIsWaitedFor) {
  Script run = waiting_for_a_node();
  EXPECT_EQ(run.at(seconds(16)).lost(0, "gone too"),
            "tell \"waiting up to 1 min for node1 to answer again\"; connect 0");
  EXPECT_EQ(run.ready(1), kBack);
  EXPECT_EQ(run.ready(0), "tell \"node1 answers again\"; plan 1");
  go_on(run);
}

TEST(SupervisorLostNode, ALossBeforeTheFactsCame) {
  Script run(waiting(2, 3), {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  EXPECT_EQ(run.attempt(1).lost(0, "gone too"),
            "tell \"waiting up to 1 min for node1 to answer again\"; connect 0");
  (void)run.ready(1);
  EXPECT_EQ(run.ready(0), "tell \"node1 answers again\"; plan 1");
}

TEST(SupervisorLostNode, ALossWhileThePlanIsMade) {
  Script run = waiting_for_a_node();
  (void)run.ready(1);
  EXPECT_EQ(run.at(seconds(16)).lost(1, "gone again"), kWaiting);
  EXPECT_EQ(run.plan({0, 1}), "") << "it was made with a node that is gone";
  EXPECT_EQ(run.at(milliseconds(16'500)).tick(), "connect 1") << "for the second time";
  EXPECT_EQ(run.at(seconds(17)).ready(1), std::string(kBack) + "; plan 1");
  go_on(run);
}

TEST(SupervisorLostNode, AFailedPlanOfBeforeMeansNothing) {
  Script run = waiting_for_a_node();
  (void)run.ready(1);
  (void)run.lost(1, "gone again");
  EXPECT_EQ(run.on(event::PlanFailed{Error{exit_code::kPreflight, "unreachable"}}), "");
}

TEST(SupervisorLostNode, LostTwiceWithOneRestart) {
  Script run(waiting(2, 1), {0, 1});
  (void)run.at(seconds(10)).lost(1, "gone");
  (void)run.exited(0, signal(SIGTERM), milliseconds(10'001));
  (void)run.empty(0);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  (void)run.ready(1);
  (void)run.plan({0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  EXPECT_EQ(run.at(seconds(20)).lost(1, "gone again"), "stop 0 with 15");
  (void)run.at(seconds(21)).exited(0, signal(SIGTERM));
  EXPECT_EQ(run.empty(0),
            "tell \"no restart: restart.max of 1 is used up\"; release 0; "
            "finish node-lost 69 \"gone again\"");
}

TEST(SupervisorLostNode, TheFirstAttemptConnectsOnce) {
  Script run(waiting(2, 3));
  (void)run.start();
  (void)run.ready(0);
  EXPECT_EQ(run.lost(1, "refused"), "release 0; finish node-lost 69 \"refused\"");
}

TEST(SupervisorLostNode, AFailureWithALostNodeWaitsForItToo) {
  Script run(waiting(2, 3), {0, 1});
  EXPECT_EQ(run.at(seconds(10)).exited(0, code(1)), "stop 1 with 15");
  EXPECT_EQ(run.empty(0), "");
  EXPECT_EQ(run.at(seconds(25)).lost(1, "no sign of life for 15 s"),
            "attempt 1 follows; tell \"rank 0 exited with code 1 after 10.0 s; restart 1 of 3 in "
            "5 s\"");
  EXPECT_EQ(run.at(seconds(30)).tick(), waits("gather 0 for 1"));
}

TEST(SupervisorLostNode, ACancelEndsTheWaitAtOnce) {
  Script run = waiting_for_a_node();
  EXPECT_EQ(run.at(seconds(20)).cancel(SIGINT), "release 0; release 1; finish cancelled 130 \"\"");
}

TEST(SupervisorLostNode, TheRunLimitEndsTheWait) {
  SupervisorConfig c = waiting(2, 3);
  c.run_limit = seconds(40);
  Script run(c, {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  (void)run.at(seconds(16)).lost(1, "refused");
  EXPECT_EQ(run.at(seconds(40)).tick(), "release 0; finish time-limit 124 \"\"");
}

TEST(SupervisorLostNode, AnIdleNodeThatWasLostIsWaitedForToo) {
  Script run(waiting(3, 3), {0, 1});
  EXPECT_EQ(run.at(seconds(5)).lost(2, "gone"), "");
  (void)run.at(seconds(10)).exited(0, code(1));
  (void)run.at(milliseconds(10'001)).exited(1, signal(SIGTERM));
  (void)run.empty(0);
  (void)run.empty(1);
  EXPECT_EQ(run.at(milliseconds(15'001)).tick(),
            "gather 0 for 1; gather 1 for 1; tell \"waiting up to 1 min for node3 to answer "
            "again\"; connect 2");
}

TEST(SupervisorLostNode, WhatIsLostInOneAttemptHasItsWholeLimitInTheNextWait) {
  Script run = waiting_for_a_node();
  (void)run.at(seconds(70)).ready(1);
  (void)run.plan({0, 1});
  (void)run.at(seconds(80)).lost(1, "gone again");
  (void)run.exited(0, signal(SIGTERM), milliseconds(80'001));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(90)).tick(), "gather 0 for 2; " + std::string(kWaiting) + "; connect 1");
  (void)run.attempt(2).ready(0);
  EXPECT_EQ(run.at(seconds(149)).ready(1), std::string(kBack) + "; plan 2");
}

}  // namespace
}  // namespace dlaunch
