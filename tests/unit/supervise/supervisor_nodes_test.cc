// The set of nodes changes between attempts: a spare joins, a lost node is taken out.
#include "script.h"

namespace dlaunch {
namespace {

SupervisorConfig named(std::uint32_t nodes, std::vector<RestartCause> on = {
                                                RestartCause::failure, RestartCause::node_loss}) {
  SupervisorConfig c = config(nodes);
  for (auto& [node, name] : c.nodes) name = "node" + std::to_string(node.value + 1);
  c.restart.max = 3;
  c.restart.on = std::move(on);
  return c;
}

/// Node 1 of two is lost at 10 s, node 0 is empty at once, and the next attempt is due at 15 s.
void lose_node(Script& run, milliseconds may_run_for = milliseconds(0)) {
  event::NodeLost lost{NodeId{1}, "gone"};
  lost.may_run_for = may_run_for;
  EXPECT_EQ(run.at(seconds(10)).on(lost), "stop 0 with 15");
  (void)run.exited(0, signal(SIGTERM), milliseconds(10'001));
  EXPECT_THAT(run.empty(0), testing::StartsWith("attempt 1 follows; "));
}

/// All nodes have answered for attempt 1: it runs one rank on each of these, to its end.
void finish_on(Script& run, const std::vector<std::uint32_t>& nodes) {
  std::string starts, releases;
  for (const std::uint32_t node : nodes) {
    starts += (starts.empty() ? "start " : "; start ") + std::to_string(node);
    releases += "release " + std::to_string(node) + "; ";
  }
  EXPECT_EQ(run.plan(nodes), starts);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) (void)run.rank_started(rank);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) (void)run.exited(rank, code(0));
  std::string last;
  for (const std::uint32_t node : nodes) last = run.empty(node);
  EXPECT_EQ(last, releases + "finish success 0 \"\"");
}

TEST(SupervisorNodes, ASpareTakesTheRanksOfALostNode) {
  Script run(named(2), {0, 1});
  lose_node(run);
  EXPECT_EQ(run.at(seconds(12)).withdrawn(1), "remove 1");
  EXPECT_EQ(run.added(2, "spare1"), "");
  EXPECT_EQ(run.at(seconds(15)).tick(), "gather 0 for 1; connect 2");
  EXPECT_EQ(run.attempt(1).ready(2), "");
  EXPECT_EQ(run.ready(0), "plan 1");
  finish_on(run, {0, 2});
  EXPECT_EQ(run.report().ranks.size(), 2u);
}

TEST(SupervisorNodes, TheJobShrinksToTheNodesThatAreLeft) {
  Script run(named(2), {0, 1});
  lose_node(run);
  EXPECT_EQ(run.withdrawn(1), "remove 1");
  EXPECT_EQ(run.at(seconds(15)).tick(), "gather 0 for 1");
  EXPECT_EQ(run.attempt(1).ready(0), "plan 1");
  finish_on(run, {0});
  EXPECT_EQ(run.report().ranks.size(), 1u);
}

/// A job on `wanted` of three nodes that needs two.
SupervisorConfig of_three(std::uint32_t wanted) {
  SupervisorConfig c = named(3);
  c.nodes_wanted = wanted;
  c.nodes_needed = 2;
  return c;
}

TEST(SupervisorNodes, ALostNodeIsNotWaitedForWhileASpareIsThere) {
  Script run(of_three(2), {0, 1});
  lose_node(run);
  const std::string goes_on = run.at(seconds(15)).tick();
  EXPECT_THAT(goes_on, testing::HasSubstr(
                           "tell \"node2 is lost; a spare takes its place, with 0 spares left\""));
  EXPECT_THAT(goes_on, testing::HasSubstr("remove 1"));
  EXPECT_THAT(goes_on, testing::EndsWith("gather 0 for 1; gather 2 for 1"));
  EXPECT_EQ(run.attempt(1).ready(2), "");
  EXPECT_EQ(run.ready(0), "plan 1");
  finish_on(run, {0, 2});
}

TEST(SupervisorNodes, AJobWithARangeGoesOnWithFewer) {
  Script run(of_three(3), {0, 1});
  lose_node(run);
  EXPECT_THAT(run.at(seconds(15)).tick(),
              testing::HasSubstr("tell \"node2 is lost; the run goes on with 2 of 3 nodes\""));
}

TEST(SupervisorNodes, ALostNodeIsWaitedForWhereTooFewAreLeft) {
  SupervisorConfig c = named(2);
  c.nodes_wanted = c.nodes_needed = 2;
  Script run(c, {0, 1});
  lose_node(run);
  EXPECT_THAT(run.at(seconds(15)).tick(), testing::Not(testing::HasSubstr("remove")));
}

TEST(SupervisorNodes, AShrunkJobWaitsUntilTheLostRanksCannotRunAnyMore) {
  Script run(named(2), {0, 1});
  lose_node(run, seconds(13));
  EXPECT_EQ(run.withdrawn(1), "");
  EXPECT_EQ(run.at(seconds(15)).tick(), "gather 0 for 1");
  EXPECT_EQ(run.attempt(1).ready(0), "");
  EXPECT_EQ(run.deadline(), seconds(23));
  EXPECT_EQ(run.at(milliseconds(22'999)).tick(), "");
  EXPECT_EQ(run.at(seconds(23)).tick(), "remove 1; plan 1");
  finish_on(run, {0});
}

TEST(SupervisorNodes, ANodeIsTakenOutWhileItsReturnIsWaitedFor) {
  Script run(named(2), {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  EXPECT_EQ(run.attempt(1).ready(0), "");
  EXPECT_EQ(run.at(seconds(20)).withdrawn(1), "remove 1; plan 1") << "a try is under way";
  EXPECT_EQ(run.ready(1), "");
  EXPECT_EQ(run.lost(1), "");
  finish_on(run, {0});
}

TEST(SupervisorNodes, WithoutARestartOnNodeLossTheLostNodeMustBeTakenOut) {
  for (const bool taken_out : {true, false}) {
    Script run(named(2, {RestartCause::failure}), {0, 1});
    EXPECT_EQ(run.at(seconds(10)).exited(0, code(1)), "stop 1 with 15");
    EXPECT_EQ(run.empty(0), "");
    if (taken_out) {
      EXPECT_EQ(run.withdrawn(1), "");
    }
    EXPECT_THAT(
        run.lost(1),
        testing::StartsWith(taken_out ? "attempt 1 follows; "
                                      : "tell \"no restart: a node was lost, and restart.on does "
                                        "not include \"node-loss\"\"; release 0; finish "));
  }
}

TEST(SupervisorNodes, WhileRanksRunTheSetStaysAsItIs) {
  Script run(named(2), {0, 1});
  EXPECT_EQ(run.at(seconds(1)).withdrawn(1), "");
  EXPECT_EQ(run.added(2, "spare1"), "");
  EXPECT_EQ(run.ready(2), "") << "it was not asked";
  EXPECT_EQ(run.at(seconds(10)).exited(1, code(3)), "stop 0 with 15") << "it still counts";
  (void)run.empty(1);
  (void)run.exited(0, signal(SIGTERM), milliseconds(10'001));
  EXPECT_THAT(run.empty(0), testing::AllOf(testing::StartsWith("attempt 1 follows; "),
                                           testing::EndsWith("; remove 1")));
  EXPECT_EQ(run.at(seconds(15)).tick(), "gather 0 for 1; connect 2");
}

TEST(SupervisorNodes, APlanInTheMakingIsNotChanged) {
  Script run(named(2));
  (void)run.start();
  (void)run.ready(0);
  EXPECT_EQ(run.ready(1), "plan 0");
  EXPECT_EQ(run.withdrawn(1), "");
  EXPECT_EQ(run.added(2), "");
  EXPECT_EQ(run.plan({0, 1}), "start 0; start 1");
  (void)run.exited(0, code(1));
  (void)run.empty(0);
  (void)run.exited(1, signal(SIGTERM), milliseconds(1));
  (void)run.empty(1);
  EXPECT_EQ(run.at(seconds(5)).tick(), "gather 0 for 1; connect 2");
}

TEST(SupervisorNodes, ANodeThatIsLostWhileThePlanIsMadeLeavesInsteadOfBeingWaitedFor) {
  Script run(named(3), {0, 1});
  (void)run.at(seconds(10)).exited(0, code(1));
  (void)run.exited(1, signal(SIGTERM), milliseconds(10'001));
  (void)run.empty(0);
  (void)run.empty(1);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  (void)run.ready(1);
  EXPECT_EQ(run.ready(2), "plan 1");
  EXPECT_EQ(run.withdrawn(1), "");
  EXPECT_EQ(run.lost(1), "remove 1; plan 1");
  finish_on(run, {0, 2});
}

TEST(SupervisorNodes, ASpareStandsInForANodeThatCannotBeConnected) {
  Script run(named(2));
  (void)run.start();
  EXPECT_EQ(run.lost(1, "refused"), "");
  EXPECT_EQ(run.withdrawn(1), "remove 1");
  EXPECT_EQ(run.at(seconds(20)).added(2, "spare1"), "connect 2");
  EXPECT_EQ(run.ready(0), "");
  EXPECT_EQ(run.deadline(), seconds(50)) << "timeouts.connect, from when it was added";
  EXPECT_EQ(run.ready(2), "plan 0");
}

TEST(SupervisorNodes, ASpareThatDoesNotAnswerEndsTheRunAsTheOthersWould) {
  Script run(named(1));
  (void)run.start();
  (void)run.added(1, "spare1");
  (void)run.ready(0);
  EXPECT_EQ(run.at(seconds(30)).tick(),
            "release 0; release 1; finish node-lost 69 \"no answer within 30 s\"");
  EXPECT_EQ(run.report().outcome.lost_nodes.front().node, NodeId{1});
}

TEST(SupervisorNodes, ASpareThatIsLostIsWaitedForByItsName) {
  Script run(named(1), {0});
  (void)run.exited(0, code(1));
  (void)run.empty(0);
  (void)run.added(4, "spare1");
  EXPECT_EQ(run.at(seconds(5)).tick(), "gather 0 for 1; connect 4");
  EXPECT_EQ(run.attempt(1).lost(4, "refused"),
            "tell \"waiting up to 5 min for spare1 to answer again\"; connect 4");
  (void)run.ready(0);
  EXPECT_EQ(run.ready(4), "tell \"spare1 answers again\"; plan 1");
  finish_on(run, {0, 4});
}

TEST(SupervisorNodes, WhatComesFromANodeOutsideTheSetMeansNothing) {
  Script run(named(2), {0, 1});
  EXPECT_EQ(run.ready(9), "");
  EXPECT_EQ(run.lost(9), "");
  EXPECT_EQ(run.empty(9), "");
  EXPECT_EQ(run.withdrawn(9), "");
  lose_node(run);
  EXPECT_EQ(run.withdrawn(1), "remove 1");
  EXPECT_EQ(run.withdrawn(1), "") << "it has left";
  EXPECT_EQ(run.added(1, "again"), "") << "no number is given twice";
  (void)run.at(seconds(15)).tick();
  EXPECT_EQ(run.lost(1), "");
  EXPECT_EQ(run.on(event::NodeEmpty{Attempt{0}, NodeId{1}, 3}), "");
  EXPECT_EQ(run.on(event::RankExited{Attempt{0}, Rank{1}, code(3), wall_at(seconds(15))}), "");
  EXPECT_EQ(run.attempt(1).ready(1), "");
  EXPECT_EQ(run.ready(0), "plan 1");
  EXPECT_EQ(run.plan({0, 1}),
            "release 0; finish internal 70 \"the plan uses node 1, which is not connected\"");
  EXPECT_EQ(run.report().leftovers, 0u);
}

TEST(SupervisorNodes, ARunWithoutNodesEnds) {
  Script run(named(1), {0});
  (void)run.exited(0, code(1));
  (void)run.empty(0);
  EXPECT_EQ(run.withdrawn(0), "remove 0");
  EXPECT_EQ(run.at(seconds(5)).tick(),
            "finish plan 69 \"no node is left: all of them were taken out of the run\"");
}

TEST(SupervisorNodes, OfSeveralLostNodesOnlyAsManyAsAreNeededAreWaitedFor) {
  SupervisorConfig c = named(3);
  c.nodes_wanted = 3;
  c.nodes_needed = 2;
  Script run(c, {0, 1, 2});
  EXPECT_EQ(run.at(seconds(10)).lost(1), "stop 0 with 15; stop 2 with 15");
  (void)run.lost(2);
  (void)run.exited(0, signal(SIGTERM), milliseconds(10'001));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(15)).tick(),
            "gather 0 for 1; tell \"waiting up to 5 min for node2 and node3 to answer again\"; "
            "connect 1; connect 2");
  EXPECT_EQ(run.attempt(1).ready(0), "");
  EXPECT_THAT(run.ready(1), testing::AllOf(testing::HasSubstr("node2 answers again"),
                                           testing::EndsWith("remove 2; plan 1")));
  finish_on(run, {0, 1});
}

TEST(SupervisorNodes, ALostNodeThatIsNotNeededForbidsNoRestart) {
  SupervisorConfig c = named(3, {RestartCause::failure});
  c.nodes_wanted = c.nodes_needed = 2;
  Script run(c, {0, 1});
  (void)run.at(seconds(10)).exited(0, code(1));
  EXPECT_EQ(run.lost(2), "") << "a spare";
  (void)run.exited(1, signal(SIGTERM), milliseconds(10'001));
  (void)run.empty(0);
  EXPECT_THAT(run.empty(1), testing::StartsWith("attempt 1 follows; "));
  EXPECT_THAT(run.at(seconds(15)).tick(),
              testing::EndsWith("remove 2; gather 0 for 1; gather 1 for 1"));
}

TEST(SupervisorNodes, ASpareThatCannotBeUsedLeavesWhileRanksRunAndIsTriedAgain) {
  Script run(of_three(2), {0, 1});
  EXPECT_EQ(run.at(seconds(5)).lost(2, "no workdir"),
            "remove 2; tell \"node3, a spare, cannot be used: no workdir; 0 spares left\"");
  EXPECT_EQ(run.deadline(), seconds(7));
  EXPECT_EQ(run.at(seconds(7)).tick(), "connect 2");
  EXPECT_EQ(run.lost(2, "no workdir"), "");
  EXPECT_EQ(run.deadline(), milliseconds(7500));
  EXPECT_EQ(run.at(milliseconds(7500)).tick(), "connect 2");
  EXPECT_EQ(run.ready(2), "tell \"node3 answers again and is a spare\"");
  EXPECT_EQ(run.lost(2, "no GPU"),
            "remove 2; tell \"node3, a spare, cannot be used: no GPU; 0 spares left\"");
  EXPECT_EQ(run.deadline(), milliseconds(9500)) << "it begins anew";
}

TEST(SupervisorNodes, OneThatReturnedAndIsLostAgainIsMissingInTheNextAttempt) {
  Script run(of_three(3), {0, 1});
  EXPECT_EQ(run.at(seconds(5)).lost(2),
            "remove 2; tell \"node3 cannot be used: gone; the next attempt has 2 of 3 nodes\"");
}

TEST(SupervisorNodes, ASpareThatTurnsOutUnusableIsReplacedByTheNextOne) {
  SupervisorConfig c = named(4);
  c.nodes_wanted = c.nodes_needed = 2;
  Script run(c, {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  run.attempt(1);
  for (const std::uint32_t node : {0U, 2U, 3U}) (void)run.ready(node);
  EXPECT_EQ(run.lost(2, "no workdir"),
            "tell \"node3 is lost; a spare takes its place, with 0 spares left\"; "
            "remove 2; plan 1");
  EXPECT_EQ(run.lost(3, "no workdir"),
            "tell \"waiting up to 5 min for node4 to answer again\"; connect 3");
  EXPECT_EQ(run.ready(3), "tell \"node4 answers again\"; plan 1");
  EXPECT_EQ(run.lost(3, "no workdir"), "tell \"waiting up to 5 min for node4 to answer again\"")
      << "a pause follows";
}

TEST(SupervisorNodes, ANodeThatIsLostDuringTheFirstPlanIsLeftOut) {
  Script run(of_three(2));
  (void)run.start();
  for (const std::uint32_t node : {0U, 1U, 2U}) (void)run.ready(node);
  EXPECT_EQ(run.lost(1),
            "tell \"node2 is lost; a spare takes its place, with 0 spares left\"; "
            "remove 1; plan 0");
  EXPECT_EQ(run.plan({0, 2}), "start 0; start 2");
}

TEST(SupervisorNodes, OneThatIsNeededEndsTheRunDuringTheFirstPlan) {
  Script run(of_three(2));
  (void)run.start();
  for (const std::uint32_t node : {0U, 1U, 2U}) (void)run.ready(node);
  (void)run.lost(1);
  EXPECT_EQ(run.lost(2), "release 0; finish node-lost 69 \"gone\"");
}

TEST(SupervisorNodes, WithoutARestartOnNodeLossASpareMayStillBeLostBetweenAttempts) {
  SupervisorConfig c = named(4, {RestartCause::failure});
  c.nodes_wanted = c.nodes_needed = 2;
  Script run(c, {0, 1});
  (void)run.at(seconds(10)).exited(0, code(1));
  (void)run.exited(1, signal(SIGTERM), milliseconds(10'001));
  (void)run.empty(0);
  (void)run.empty(1);
  EXPECT_EQ(run.lost(2), "") << "before the restart";
  EXPECT_THAT(run.at(seconds(15)).tick(), testing::HasSubstr("remove 2; "));
  run.attempt(1);
  for (const std::uint32_t node : {0U, 1U, 3U}) (void)run.ready(node);
  EXPECT_THAT(run.lost(0), testing::EndsWith("remove 0; plan 1")) << "during the plan";
  finish_on(run, {1, 3});
}

/// Of two nodes, one suffices: node 1 is lost at 10 s, and attempt 1 runs on node 0.
void shrink(Script& run) {
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  EXPECT_EQ(run.plan({0}), "start 0");
  (void)run.rank_started(0);
}

SupervisorConfig of_one_or_two() {
  SupervisorConfig c = named(2);
  c.nodes_wanted = 2;
  c.nodes_needed = 1;
  return c;
}

TEST(SupervisorNodes, AJobThatShrankGrowsAtTheNextRestart) {
  Script run(of_one_or_two(), {0, 1});
  shrink(run);
  EXPECT_EQ(run.deadline(), seconds(17));
  EXPECT_EQ(run.at(seconds(17)).tick(), "connect 1");
  EXPECT_EQ(run.at(seconds(18)).ready(1),
            "tell \"node2 answers again; the next attempt has 2 of 2 nodes\"")
      << "the attempt that runs is left alone";
  EXPECT_EQ(run.at(seconds(60)).exited(0, code(1)), "");
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(120)).tick(), "gather 0 for 2; gather 1 for 2");
  (void)run.attempt(2).ready(0);
  EXPECT_EQ(run.ready(1), "plan 2");
  finish_on(run, {0, 1});
}

/// Attempt 1 runs, and a try to connect node 1 is under way.
Script trying_node_1(SupervisorConfig c) {
  Script run(c, {0, 1});
  shrink(run);
  EXPECT_EQ(run.at(seconds(17)).tick(), "connect 1");
  return run;
}

TEST(SupervisorNodes, NoAttemptIsPromisedWhereNoneCanFollow) {
  SupervisorConfig c = of_one_or_two();
  c.restart.max = 1;
  EXPECT_EQ(trying_node_1(c).at(seconds(18)).ready(1),
            "tell \"node2 answers again, but no restart would follow now: restart.max of 1 is used "
            "up\"");
  const std::string promised = "tell \"node2 answers again; the next attempt has 2 of 2 nodes\"";
  c.restart.reset_after = seconds(60);
  Script restored = trying_node_1(c);
  EXPECT_EQ(restored.at(seconds(74)).lost(1), "");
  EXPECT_EQ(restored.at(seconds(75)).tick(), "connect 1");
  EXPECT_EQ(restored.ready(1), promised) << "attempt 1 has run for a minute";
  c.restart.max = 3;
  EXPECT_EQ(trying_node_1(c).at(seconds(18)).ready(1), promised);
  c.run_limit = seconds(20);
  EXPECT_EQ(
      trying_node_1(c).at(seconds(18)).ready(1),
      "tell \"node2 answers again, but no restart would follow now: the wait of 10 s would end "
      "after the time limit of 20 s\"");
}

TEST(SupervisorNodes, NoAttemptIsPromisedWhileTheLastOneIsStopped) {
  SupervisorConfig c = of_one_or_two();
  Script cancelled = trying_node_1(c);
  (void)cancelled.cancel(SIGTERM);
  EXPECT_EQ(cancelled.ready(1), "tell \"node2 answers again\"");
  Script failing = trying_node_1(c);
  (void)failing.exited(0, code(126));
  EXPECT_EQ(
      failing.ready(1),
      "tell \"node2 answers again, but no restart would follow now: exit code 126 means that a "
      "program cannot be executed\"");
  Script restarting = trying_node_1(c);
  (void)restarting.exited(0, code(1));
  EXPECT_THAT(restarting.ready(1), testing::HasSubstr("the next attempt has 2 of 2 nodes"));
}

TEST(SupervisorNodes, ANodeThatAnswersInTheWaitIsPartOfTheNextAttempt) {
  SupervisorConfig c = of_one_or_two();
  c.restart.max = 2;
  Script run = trying_node_1(c);
  (void)run.exited(0, code(1));
  EXPECT_THAT(run.empty(0), testing::HasSubstr("attempt 2 follows"));
  EXPECT_EQ(run.ready(1), "tell \"node2 answers again; the next attempt has 2 of 2 nodes\"");
}

TEST(SupervisorNodes, ANodeThatIsConnectedAndTellsNothingIsTriedAgainAndToldOnce) {
  Script run = trying_node_1(of_one_or_two());
  EXPECT_EQ(run.at(milliseconds(106'999)).tick(), "");
  EXPECT_EQ(run.at(seconds(107)).tick(),
            "release 1; tell \"node2: connected, but did not report its facts within 30 s; trying "
            "again\"");
  EXPECT_EQ(run.lost(1), "") << "its session has ended";
  EXPECT_EQ(run.at(milliseconds(107'500)).tick(), "connect 1");
  EXPECT_EQ(run.at(milliseconds(197'500)).tick(), "release 1");
  EXPECT_EQ(run.ready(1), "") << "too late";
  EXPECT_EQ(run.at(milliseconds(198'500)).tick(), "connect 1");
  EXPECT_EQ(run.ready(1), "tell \"node2 answers again; the next attempt has 2 of 2 nodes\"");
}

TEST(SupervisorNodes, SoIsOneThatIsWaitedFor) {
  SupervisorConfig c = named(2);
  c.connect_limit = seconds(2);
  Script run(c, {0, 1});
  lose_node(run);
  EXPECT_THAT(run.at(seconds(15)).tick(), testing::EndsWith("connect 1"));
  EXPECT_EQ(run.attempt(1).ready(0), "");
  EXPECT_THAT(run.at(seconds(21)).tick(),
              testing::StartsWith("release 1; tell \"node2: connected"));
  EXPECT_EQ(run.lost(1), "");
  EXPECT_EQ(run.at(milliseconds(21'500)).tick(), "connect 1");
  EXPECT_EQ(run.ready(1), "tell \"node2 answers again\"; plan 1");
  finish_on(run, {0, 1});
}

TEST(SupervisorNodes, AReplacedNodeBecomesASpare) {
  Script run(of_three(2), {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  (void)run.ready(2);
  (void)run.plan({0, 2});
  EXPECT_EQ(run.at(seconds(17)).tick(), "connect 1");
  EXPECT_EQ(run.ready(1), "tell \"node2 answers again and is a spare\"");
  EXPECT_EQ(run.at(seconds(60)).lost(2), "stop 0 with 15");
  (void)run.exited(0, signal(SIGTERM), milliseconds(60'001));
  (void)run.empty(0);
  EXPECT_THAT(run.at(seconds(120)).tick(), testing::EndsWith("gather 0 for 2; gather 1 for 2"));
}

TEST(SupervisorNodes, WhatWasLeftOutIsTriedEverLessOften) {
  Script run(of_one_or_two(), {0, 1});
  shrink(run);
  std::vector<seconds> pauses;
  for (int i = 0; i < 12; ++i) {
    const auto due = std::chrono::duration_cast<milliseconds>(*run.deadline());
    EXPECT_EQ(run.at(due).tick(), "connect 1");
    EXPECT_EQ(run.deadline(), due + seconds(90)) << "to connect, to tell its facts, to be checked";
    EXPECT_EQ(run.lost(1, "refused"), "");
    pauses.push_back(std::chrono::duration_cast<seconds>(*run.deadline() - due));
  }
  EXPECT_EQ(pauses.front(), seconds(0)) << "half a second";
  EXPECT_EQ(pauses.back(), seconds(300));
}

TEST(SupervisorNodes, WhatIsLeftOutIsNotTriedWithoutARestartOrBetweenAttempts) {
  SupervisorConfig c = of_one_or_two();
  Script run(c, {0, 1});
  shrink(run);
  (void)run.at(seconds(16)).exited(0, code(1));
  EXPECT_THAT(run.empty(0), testing::HasSubstr("attempt 2 follows"));
  EXPECT_EQ(run.at(milliseconds(16'900)).tick(), "") << "in the wait";
  c.restart.max = 0;
  Script last(c);
  (void)last.start();
  (void)last.lost(1, "refused");
  EXPECT_THAT(last.ready(0), testing::EndsWith("remove 1; plan 0"));
  (void)last.plan({0});
  EXPECT_EQ(last.deadline(), std::nullopt);
}

TEST(SupervisorNodes, ATryThatIsUnderWayAtTheEndIsGivenUp) {
  Script run(of_one_or_two(), {0, 1});
  shrink(run);
  EXPECT_EQ(run.at(seconds(17)).tick(), "connect 1");
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.empty(0), "release 0; release 1; finish success 0 \"\"");
}

TEST(SupervisorNodes, OneThatReturnsMayTakeThePlaceOfOneThatIsWaitedFor) {
  Script run(of_one_or_two(), {0, 1});
  shrink(run);
  EXPECT_THAT(run.at(seconds(20)).lost(0), testing::HasSubstr("attempt 2 follows"));
  EXPECT_THAT(run.at(seconds(90)).tick(), testing::HasSubstr("for node1 to answer again"));
  EXPECT_EQ(run.at(seconds(91)).attempt(2).ready(1),
            "tell \"node2 answers again; the next attempt has 1 of 2 nodes\"; gather 1 for 2; "
            "tell \"node1 is lost; the run goes on with 1 of 2 nodes\"; remove 0");
  EXPECT_EQ(run.ready(1), "plan 2");
}

TEST(SupervisorNodes, ANodeThatReturnedAndWasLostAgainIsAskedBeforeItIsUsed) {
  Script run(of_three(2), {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  (void)run.ready(2);
  (void)run.plan({0, 2});
  (void)run.at(seconds(17)).tick();
  EXPECT_EQ(run.ready(1), "tell \"node2 answers again and is a spare\"");
  EXPECT_EQ(run.at(seconds(60)).lost(2), "stop 0 with 15");
  EXPECT_EQ(run.lost(1), "");
  (void)run.exited(0, signal(SIGTERM), milliseconds(60'001));
  (void)run.empty(0);
  EXPECT_THAT(run.at(seconds(120)).tick(), testing::HasSubstr("connect 1;"));
  (void)run.attempt(2).ready(0);
  EXPECT_THAT(run.ready(1), testing::HasSubstr("gather 1 for 2"));
  EXPECT_EQ(run.ready(1), "plan 2");
}

TEST(SupervisorNodes, ANodeThatLeftAfterThatAndIsConnectedForItsFactsIsNotAskedTwice) {
  Script run(of_one_or_two(), {0, 1});
  shrink(run);
  EXPECT_EQ(run.at(seconds(17)).tick(), "connect 1");
  (void)run.ready(1);
  (void)run.at(seconds(60)).exited(0, code(1));
  EXPECT_EQ(run.lost(1), "") << "while the ranks are stopped: it stays in the set until a restart";
  EXPECT_THAT(run.empty(0), testing::HasSubstr("attempt 2 follows"));
  EXPECT_THAT(run.at(seconds(120)).tick(), testing::HasSubstr("remove 1"));
  (void)run.attempt(2).ready(0);
  (void)run.plan({0});
  EXPECT_EQ(run.at(seconds(122)).tick(), "connect 1");
  (void)run.ready(1);
  EXPECT_THAT(run.at(seconds(150)).lost(0), testing::HasSubstr("attempt 3 follows"));
  EXPECT_THAT(run.at(seconds(300)).tick(), testing::HasSubstr("gather 1 for 3"));
  EXPECT_THAT(run.at(seconds(301)).lost(1), testing::EndsWith("connect 1"));
  EXPECT_EQ(run.attempt(3).ready(1), "tell \"node2 answers again\"; plan 3");
}

TEST(SupervisorNodes, ANodeThatReturnsDuringAPlanIsAskedWhenThePlanIsMadeAgain) {
  SupervisorConfig c = named(4);
  c.nodes_wanted = 3;
  c.nodes_needed = 2;
  Script run(c, {0, 1});
  lose_node(run);
  (void)run.at(seconds(15)).tick();
  run.attempt(1);
  (void)run.ready(0);
  EXPECT_EQ(run.at(seconds(17)).tick(), "connect 1") << "others have not told their facts";
  (void)run.ready(2);
  EXPECT_EQ(run.ready(3), "plan 1");
  EXPECT_THAT(run.ready(1), testing::HasSubstr("answers again and is a spare"));
  EXPECT_EQ(run.lost(2),
            "tell \"node3 is lost; a spare takes its place, with 0 spares left\"; "
            "remove 2; gather 1 for 1");
  EXPECT_EQ(run.ready(1), "plan 1");
  finish_on(run, {0, 1, 3});
}

void fail_on_node_0(Script& run) {
  (void)run.exited(0, code(1));
  (void)run.exited(1, signal(SIGTERM), milliseconds(1'000'000));
  (void)run.empty(0);
}

TEST(SupervisorNodes, ANodeWhereAttemptsFailTwiceIsLeftOut) {
  SupervisorConfig c = named(3, {RestartCause::failure});
  c.nodes_wanted = c.nodes_needed = 2;
  c.restart.exclude_bad_nodes = true;
  Script run(c, {0, 1});
  fail_on_node_0(run);
  EXPECT_THAT(run.empty(1), testing::Not(testing::HasSubstr("left out"))) << "once";
  (void)run.at(seconds(15)).tick();
  run.attempt(1);
  for (const std::uint32_t node : {0U, 1U, 2U}) (void)run.ready(node);
  (void)run.plan({0, 1});
  for (const std::uint32_t rank : {0U, 1U}) (void)run.rank_started(rank);
  fail_on_node_0(run);
  const std::string again = run.empty(1);
  EXPECT_THAT(again, testing::HasSubstr("the job failed twice on node1, which is left out "
                                        "(restart.exclude_bad_nodes); a spare takes its place, "
                                        "with 0 spares left"));
  EXPECT_THAT(again, testing::HasSubstr("remove 0"));
  EXPECT_THAT(run.at(seconds(60)).tick(), testing::EndsWith("gather 1 for 2; gather 2 for 2"));
}

TEST(SupervisorNodes, ABadNodeStaysWhereItIsNeededOrNotToBeLeftOut) {
  for (const bool is_wanted : {true, false}) {
    SupervisorConfig c = named(3, {RestartCause::failure});
    c.nodes_wanted = c.nodes_needed = is_wanted ? 3 : 2;
    c.restart.exclude_bad_nodes = is_wanted;
    Script run(c, {0, 1});
    for (int attempt = 0; attempt < 2; ++attempt) {
      fail_on_node_0(run);
      EXPECT_THAT(run.empty(1), testing::Not(testing::HasSubstr("left out")));
      (void)run.at(seconds(100 * (attempt + 1))).tick();
      run.attempt(static_cast<std::uint32_t>(attempt) + 1);
      for (const std::uint32_t node : {0U, 1U, 2U}) (void)run.ready(node);
      (void)run.plan({0, 1});
      for (const std::uint32_t rank : {0U, 1U}) (void)run.rank_started(rank);
    }
  }
}

TEST(SupervisorNodes, ABadNodeStaysWhileOnlyLostOnesCouldTakeItsPlace) {
  SupervisorConfig c = named(2, {RestartCause::failure});
  c.nodes_wanted = c.nodes_needed = 1;
  c.restart.exclude_bad_nodes = true;
  Script run(c, {0});
  (void)run.exited(0, code(1));
  (void)run.empty(0);
  (void)run.at(seconds(15)).tick();
  (void)run.attempt(1).ready(0);
  (void)run.ready(1);
  (void)run.plan({0});
  (void)run.exited(0, code(1));
  EXPECT_EQ(run.lost(1), "") << "while the ranks are stopped";
  EXPECT_THAT(run.empty(0), testing::Not(testing::HasSubstr("left out")));
  EXPECT_THAT(run.at(seconds(60)).tick(), testing::EndsWith("remove 1; gather 0 for 2"));
}

TEST(SupervisorNodes, WhatDoesNotAnswerInTimeIsLeftOutButTheFenceIsAwaited) {
  SupervisorConfig c = named(3);
  c.nodes_wanted = 2;
  c.nodes_needed = 1;
  c.connect_limit = seconds(2);
  Script run(c, {0, 1});
  lose_node(run, seconds(13));
  (void)run.at(seconds(15)).tick();
  EXPECT_EQ(run.attempt(1).ready(0), "");
  EXPECT_THAT(run.at(seconds(17)).tick(), testing::EndsWith("remove 2")) << "it is silent";
  EXPECT_THAT(run.at(seconds(23)).tick(), testing::EndsWith("remove 1; plan 1"));
  EXPECT_EQ(run.plan({0}), "start 0; connect 2") << "it is 6 s since it left";
}

}  // namespace
}  // namespace dlaunch
