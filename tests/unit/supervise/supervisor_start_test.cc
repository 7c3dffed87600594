#include "script.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

TEST(SupervisorStart, WholeRunOnOneNode) {
  Script run(config(1));
  EXPECT_EQ(run.start(), "connect 0");
  EXPECT_EQ(run.ready(0), "plan 0");
  EXPECT_EQ(run.plan({0, 0}), "start 0");
  EXPECT_EQ(run.at(milliseconds(1)).rank_started(0), "");
  EXPECT_EQ(run.rank_started(1), "");
  EXPECT_EQ(run.at(milliseconds(5)).exited(1, code(0)), "");
  EXPECT_EQ(run.exited(0, code(0)), "");
  EXPECT_FALSE(run.supervisor().done());
  EXPECT_EQ(run.at(milliseconds(6)).empty(0, 3), "release 0; finish success 0 \"\"");
  EXPECT_TRUE(run.supervisor().done());
  EXPECT_EQ(run.report().leftovers, 3u);
  EXPECT_EQ(run.report().elapsed, milliseconds(6));
  EXPECT_FALSE(run.report().outcome.from_rank);
  EXPECT_EQ(run.report().ranks[0], (RankEnd{How::exited, code(0), std::nullopt,
                                            wall_at(milliseconds(1)), wall_at(milliseconds(5))}));
}

TEST(SupervisorStart, PlansWhenTheLastNodeIsReady) {
  Script run(config(3));
  EXPECT_EQ(run.start(), "connect 0; connect 1; connect 2");
  EXPECT_EQ(run.ready(2), "");
  EXPECT_EQ(run.ready(2), "");
  EXPECT_EQ(run.ready(0), "");
  EXPECT_EQ(run.ready(1), "plan 0");
}

TEST(SupervisorStart, NodesWithoutRanksAreReleased) {
  Script run(config(3));
  (void)run.start();
  for (const std::uint32_t node : {0, 1, 2}) (void)run.ready(node);
  EXPECT_EQ(run.plan({0, 2}), "start 0; release 1; start 2");
  // Neither its loss nor any other event of it matters now.
  EXPECT_EQ(run.lost(1), "");
  EXPECT_EQ(run.empty(1, 5), "");
  (void)run.exited(0, code(0));
  (void)run.exited(1, code(0));
  EXPECT_EQ(run.empty(0, 1), "");
  EXPECT_EQ(run.empty(2, 2), "release 0; release 2; finish success 0 \"\"");
  EXPECT_EQ(run.report().leftovers, 3u);
}

TEST(SupervisorStart, NodeLostWhileConnectingEndsTheRun) {
  Script run(config(3));
  (void)run.start();
  (void)run.ready(0);
  EXPECT_EQ(run.lost(1, "Permission denied (publickey)."), "");
  EXPECT_EQ(run.ready(2),
            "release 0; release 2; finish node-lost 69 \"Permission denied (publickey).\"");
  EXPECT_EQ(run.report().outcome.lost_nodes.front().node, NodeId{1});
  EXPECT_TRUE(run.report().ranks.empty());
  EXPECT_EQ(run.report().outcome.first, std::nullopt);
}

TEST(SupervisorStart, AllThatCannotBeConnectedAreNamed) {
  Script run(config(4));
  (void)run.start();
  EXPECT_EQ(run.lost(3, "Connection refused"), "");
  EXPECT_EQ(run.lost(3, "again"), "");
  EXPECT_EQ(run.ready(0), "");
  EXPECT_EQ(run.ready(2), "");
  EXPECT_EQ(run.lost(2, "its agent was killed"), "");  // had answered, and others have not
  EXPECT_EQ(run.lost(1, "Could not resolve hostname"),
            "release 0; finish node-lost 69 \"Could not resolve hostname\"");
  EXPECT_EQ(run.report().outcome.lost_nodes,
            (std::vector<LostNode>{{NodeId{1}, "Could not resolve hostname"},
                                   {NodeId{2}, "its agent was killed"},
                                   {NodeId{3}, "Connection refused"}}));
  EXPECT_EQ(run.report().outcome.lost_nodes.front().node, NodeId{1});
}

TEST(SupervisorStart, ACancelDoesNotWaitForTheOthers) {
  Script run(config(3));
  (void)run.start();
  (void)run.lost(1, "Connection refused");
  EXPECT_EQ(run.cancel(SIGINT), "release 0; release 2; finish cancelled 130 \"\"");
  EXPECT_TRUE(run.report().outcome.lost_nodes.empty());
}

TEST(SupervisorStart, NodeLostWhilePlanning) {
  Script run(config(2));
  (void)run.start();
  (void)run.ready(0);
  (void)run.ready(1);
  EXPECT_EQ(run.lost(0, "killed"), "release 1; finish node-lost 69 \"killed\"");
}

TEST(SupervisorStart, ConnectLimit) {
  Script run(config(4));
  (void)run.start();
  EXPECT_EQ(run.deadline(), seconds(30));
  (void)run.at(seconds(1)).ready(0);
  EXPECT_EQ(run.deadline(), seconds(30));
  EXPECT_EQ(run.at(milliseconds(29'999)).tick(), "");
  EXPECT_EQ(run.at(seconds(30)).tick(),
            "release 0; release 1; release 2; release 3; finish node-lost 69 "
            "\"no answer within 30 s\"");
  EXPECT_EQ(run.report().outcome.lost_nodes,
            (std::vector<LostNode>{{NodeId{1}, "no answer within 30 s"},
                                   {NodeId{2}, "no answer within 30 s"},
                                   {NodeId{3}, "no answer within 30 s"}}));
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorStart, AQuestionToTheUserGivesTheConnectLimitAgain) {
  Script run(config(1));
  (void)run.start();
  EXPECT_EQ(run.at(seconds(20)).on(event::UserAsked{}), "");
  EXPECT_EQ(run.deadline(), seconds(50));
  (void)run.at(seconds(40)).ready(0);
  EXPECT_EQ(run.on(event::UserAsked{}), "");  // making a plan has its own limit
  EXPECT_EQ(run.deadline(), seconds(70));
  (void)run.at(seconds(41)).plan({0});
  EXPECT_EQ(run.on(event::UserAsked{}), "");
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorStart, CopyingTakesAsLongAsItTakes) {
  Script run(config(1));
  (void)run.start();
  EXPECT_EQ(run.on(event::Copying{true}), "");  // not expected while nodes connect
  EXPECT_EQ(run.deadline(), seconds(30));
  (void)run.at(seconds(10)).ready(0);
  EXPECT_EQ(run.deadline(), seconds(40));
  EXPECT_EQ(run.at(seconds(11)).on(event::Copying{true}), "");
  EXPECT_EQ(run.deadline(), std::nullopt);
  EXPECT_EQ(run.at(seconds(1000)).on(event::Copying{false}), "");
  EXPECT_EQ(run.deadline(), seconds(1030));
  (void)run.plan({0});
  EXPECT_EQ(run.on(event::Copying{true}), "");
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorStart, ANodeThatAnswersAtTheLastMomentCounts) {
  Script run(config(1));
  (void)run.start();
  EXPECT_EQ(run.at(seconds(30)).ready(0), "plan 0");
}

TEST(SupervisorStart, PlanFailedCarriesItsCodeAndWords) {
  Script run(config(2));
  (void)run.start();
  (void)run.ready(0);
  (void)run.ready(1);
  EXPECT_EQ(run.on(event::PlanFailed{Error{65, "nodes: 4, but only 2 hosts"}}),
            "release 0; release 1; finish plan 65 \"nodes: 4, but only 2 hosts\"");
}

TEST(SupervisorStart, AWaitForThePlanHasALimit) {
  Script run(config(1));
  (void)run.start();
  (void)run.at(seconds(10)).ready(0);
  EXPECT_EQ(run.deadline(), seconds(40));
  EXPECT_EQ(run.at(seconds(40)).tick(),
            "release 0; finish plan 70 \"the plan was not ready within 30 s (timeouts.connect)\"");
}

TEST(SupervisorStart, APlanForUnknownNodesIsOurFault) {
  Script run(config(1));
  (void)run.start();
  (void)run.ready(0);
  EXPECT_EQ(run.plan({0, 7}),
            "release 0; finish internal 70 \"the plan uses node 7, which is not connected\"");
}

TEST(SupervisorStart, WhatHasNoMeaningInThePhaseIsIgnored) {
  Script run(config(2));
  (void)run.start();
  EXPECT_EQ(run.plan({0, 1}), "");
  EXPECT_EQ(run.on(event::PlanFailed{Error{65, "x"}}), "");
  EXPECT_EQ(run.rank_started(0), "");
  EXPECT_EQ(run.exited(0, code(1)), "");
  EXPECT_EQ(run.not_started(0, {}), "");
  EXPECT_EQ(run.empty(0), "");
  EXPECT_EQ(run.tick(), "");
  EXPECT_EQ(run.ready(99), "");
  EXPECT_EQ(run.lost(99), "");
  (void)run.ready(0);
  EXPECT_EQ(run.ready(1), "plan 0");
  EXPECT_EQ(run.on(event::PlanMade{Attempt{1}, {NodeId{0}}, {}}), "");
  EXPECT_EQ(run.plan({0, 1}), "start 0; start 1");
  EXPECT_EQ(run.plan({0, 1}), "");
  EXPECT_EQ(run.ready(0), "");
}

TEST(SupervisorStart, NewsOfAnotherAttemptIsIgnored) {
  Script run(config(1), {0});
  EXPECT_EQ(run.on(event::RankExited{Attempt{1}, Rank{0}, code(1), wall_at({})}), "");
  EXPECT_EQ(run.on(event::RankNotStarted{Attempt{1}, Rank{0}, {}, wall_at({})}), "");
  EXPECT_EQ(run.on(event::NodeEmpty{Attempt{1}, NodeId{0}, 0}), "");
  EXPECT_EQ(run.exited(0, code(0)), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
}

TEST(SupervisorStart, NothingHappensAfterFinish) {
  Script run(config(1), {0});
  (void)run.exited(0, code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.cancel(SIGINT), "");
  EXPECT_EQ(run.lost(0), "");
  EXPECT_EQ(run.at(seconds(1000)).tick(), "");
  EXPECT_EQ(run.deadline(), std::nullopt);
}

TEST(SupervisorStart, AJobWithoutRanksSucceeds) {
  Script run(config(1));
  (void)run.start();
  (void)run.ready(0);
  EXPECT_EQ(run.plan({}), "release 0; finish success 0 \"\"");
}

}  // namespace
}  // namespace dlaunch
