#include "script.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

TEST(SupervisorFailure, StopsAllNodesThatStillHaveRanksInTheSameStep) {
  Script run(config(3), {0, 0, 1, 2});
  (void)run.at(seconds(1)).exited(2, code(0));  // node 1 has no running rank, but is not empty yet
  EXPECT_EQ(run.at(seconds(2)).exited(1, code(7)), "stop 0 with 15; stop 2 with 15");
  EXPECT_EQ(run.empty(1), "");
  EXPECT_EQ(run.at(milliseconds(2001)).exited(0, signal(SIGTERM)), "");
  EXPECT_EQ(run.empty(0), "");
  EXPECT_EQ(run.exited(3, code(0)), "");
  EXPECT_EQ(run.empty(2), "release 0; release 1; release 2; finish exit-code 7 \"\"");
  EXPECT_TRUE(run.report().outcome.from_rank);
  EXPECT_EQ(run.report().outcome.first, Rank{1});
  EXPECT_TRUE(run.report().outcome.perhaps_first.empty());
  EXPECT_EQ(run.how(0), How::stopped);
  EXPECT_EQ(run.how(1), How::exited);
  EXPECT_EQ(run.how(2), How::exited);
  EXPECT_EQ(run.how(3), How::stopped);  // told to stop, and ended then, with 0
}

TEST(SupervisorFailure, ARanksOwnSignal) {
  Script run(config(1), {0});
  EXPECT_EQ(run.exited(0, signal(SIGSEGV)), "");
  EXPECT_EQ(run.empty(0), "release 0; finish signal 139 \"\"");
  EXPECT_TRUE(run.report().outcome.from_rank);
  EXPECT_EQ(run.how(0), How::exited);
}

ExitStatus without_mpi_init() {
  ExitStatus status = code(0);
  status.mpi = MpiEnd::never_connected;
  return status;
}

TEST(SupervisorFailure, ARankThatNeverCalledMpiInit) {
  Script run(config(1), {0, 0});
  EXPECT_EQ(run.exited(0, without_mpi_init()), "stop 0 with 15");
  (void)run.exited(1, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish mpi 65 \"\"");
}

TEST(SupervisorFailure, MpiInitMayBeOptional) {
  SupervisorConfig optional = config(1);
  optional.mpi_init_optional = true;
  Script run(optional, {0, 0});
  EXPECT_EQ(run.exited(0, without_mpi_init()), "");
  EXPECT_EQ(run.exited(1, code(0)), "");
  EXPECT_EQ(run.empty(0), "release 0; finish success 0 \"\"");
  EXPECT_EQ(run.how(0), How::exited);
  EXPECT_TRUE(run.report().ranks[0].status.ok());
}

TEST(SupervisorFailure, AnotherWorldThanTheJobs) {
  ExitStatus status = code(0);
  status.mpi = MpiEnd::other_world;
  for (const auto& [is_optional, size] :
       std::vector<std::pair<bool, std::uint32_t>>{{false, 1}, {true, 1}, {false, 3}, {true, 3}}) {
    SupervisorConfig given = config(1);
    given.mpi_init_optional = is_optional;
    status.mpi_world = size;
    Script run(given, {0});
    EXPECT_EQ(run.exited(0, status), "");
    EXPECT_EQ(run.empty(0), is_optional && size == 1 ? "release 0; finish success 0 \"\""
                                                     : "release 0; finish mpi 65 \"\"");
  }
}

TEST(SupervisorFailure, WhoCalledItMustFinalizeAllTheSame) {
  SupervisorConfig optional = config(1);
  optional.mpi_init_optional = true;
  Script run(optional, {0});
  ExitStatus status = code(0);
  status.mpi = MpiEnd::not_finalized;
  EXPECT_EQ(run.exited(0, status), "");
  EXPECT_EQ(run.empty(0), "release 0; finish mpi 65 \"\"");
}

TEST(SupervisorFailure, CannotStart) {
  Script run(config(2));
  (void)run.start();
  (void)run.ready(0);
  (void)run.ready(1);
  (void)run.plan({0, 0, 1});
  (void)run.rank_started(2);
  // Rank 1 is still pending on node 0: the agent gets the stop nevertheless.
  EXPECT_EQ(run.not_started(0, {StartFailure::Step::execute, ENOENT, "train", "/bin"}),
            "stop 0 with 15; stop 1 with 15");
  EXPECT_EQ(run.empty(0), "");
  EXPECT_EQ(run.at(milliseconds(1)).exited(2, signal(SIGTERM)), "");
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish cannot-execute 127 \"\"");
  EXPECT_FALSE(run.report().outcome.from_rank);
  EXPECT_EQ(run.report().outcome.first, Rank{0});
  EXPECT_EQ(run.how(0), How::cannot_start);
  EXPECT_EQ(run.report().ranks[0].start_failure->path, "train");
  EXPECT_EQ(run.how(1), How::not_started);
  EXPECT_EQ(run.how(2), How::stopped);
}

TEST(SupervisorFailure, ARankMayReportItsStartAfterTheStop) {
  Script run(config(1));
  (void)run.start();
  (void)run.ready(0);
  (void)run.plan({0, 0});
  (void)run.rank_started(0);
  EXPECT_EQ(run.exited(0, code(1)), "stop 0 with 15");
  EXPECT_EQ(run.at(milliseconds(1)).rank_started(1), "");
  EXPECT_EQ(run.at(milliseconds(2)).exited(1, signal(SIGTERM)), "");
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 1 \"\"");
  EXPECT_EQ(run.how(1), How::stopped);
  EXPECT_EQ(run.report().ranks[1].started, wall_at(milliseconds(1)));
}

TEST(SupervisorFailure, AnEarlierFailureThatArrivesLaterIsTheFirst) {
  Script run(config(3), {0, 1, 2});
  EXPECT_EQ(run.at(seconds(10)).exited(0, code(1), milliseconds(9'990)),
            "stop 1 with 15; stop 2 with 15");
  EXPECT_EQ(run.at(milliseconds(10'020)).exited(1, code(42), milliseconds(9'980)), "");
  (void)run.empty(0);
  (void)run.empty(1);
  // Earlier than the stop, but later than both.
  EXPECT_EQ(run.exited(2, code(3), milliseconds(9'999)), "");
  EXPECT_EQ(run.empty(2), "release 0; release 1; release 2; finish exit-code 42 \"\"");
  EXPECT_EQ(run.report().outcome.first, Rank{1});
  EXPECT_TRUE(run.report().outcome.perhaps_first.empty());
  EXPECT_EQ(run.how(0), How::exited);
  EXPECT_EQ(run.how(2), How::exited);
}

TEST(SupervisorFailure, EqualTimesAreATie) {
  Script run(config(1), {0, 0, 0});
  (void)run.at(seconds(1)).exited(2, code(9));
  (void)run.at(milliseconds(1001)).exited(1, code(5), seconds(1));
  (void)run.exited(0, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 5 \"\"");
  EXPECT_EQ(run.report().outcome.first, Rank{1});
  EXPECT_EQ(run.report().outcome.perhaps_first, std::vector<Rank>{Rank{2}});
}

TEST(SupervisorFailure, WithinTheClockErrorTheOrderIsUnknown) {
  Script run(config(2), {0, 1});
  run.clock_error(milliseconds(2));
  (void)run.at(seconds(1)).exited(0, code(2), milliseconds(990));
  run.clock_error(milliseconds(3));
  (void)run.at(milliseconds(1001)).exited(1, code(3), milliseconds(986));
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish exit-code 3 \"\"");
  EXPECT_EQ(run.report().outcome.first, Rank{1});  // according to the clocks
  EXPECT_EQ(run.report().outcome.perhaps_first, std::vector<Rank>{Rank{0}});
}

TEST(SupervisorFailure, NodesLostTogetherAreAllNamed) {
  Script run(config(3), {0, 1, 2});
  (void)run.at(seconds(1)).lost(1, "no sign of life for 15 s");
  (void)run.at(milliseconds(1100)).lost(2, "no sign of life for 15 s");
  (void)run.exited(0, signal(SIGTERM));
  (void)run.empty(0);
  ASSERT_EQ(run.report().outcome.lost_nodes.size(), 2U);
  EXPECT_EQ(run.report().outcome.lost_nodes.front().node, NodeId{1});
  EXPECT_EQ(run.report().outcome.lost_nodes[1].node, NodeId{2});
}

TEST(SupervisorFailure, WhatFollowsFromTheStopIsNotTheFirstFailure) {
  Script run(config(2), {0, 1});
  (void)run.at(seconds(1)).exited(1, code(2));
  (void)run.at(milliseconds(1001)).exited(0, code(1));  // its TERM handler exits with 1
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish exit-code 2 \"\"");
  EXPECT_EQ(run.report().outcome.first, Rank{1});
  EXPECT_EQ(run.how(0), How::stopped);
  EXPECT_EQ(run.report().ranks[0].status, code(1));
}

TEST(SupervisorFailure, ExitZeroBeforeTheStopIsTheRanksOwn) {
  Script run(config(2), {0, 1});
  (void)run.at(seconds(1)).exited(1, code(2));
  (void)run.at(milliseconds(1001)).exited(0, code(0), milliseconds(999));
  (void)run.empty(0);
  (void)run.empty(1);
  EXPECT_EQ(run.how(0), How::exited);
}

TEST(SupervisorFailure, KillsWhatIsNotEmptyAfterTheGrace) {
  Script run(config(3), {0, 1, 2});
  (void)run.at(seconds(1)).exited(0, code(1));
  (void)run.empty(0);
  EXPECT_EQ(run.deadline(), seconds(31));
  (void)run.at(seconds(2)).exited(1, signal(SIGTERM));
  (void)run.empty(1);
  EXPECT_EQ(run.at(milliseconds(30'999)).tick(), "");
  EXPECT_EQ(run.at(seconds(31)).tick(), "kill 2");
  EXPECT_EQ(run.tick(), "");
  EXPECT_EQ(run.deadline(), seconds(41));
  (void)run.at(milliseconds(31'001)).exited(2, signal(SIGKILL));
  EXPECT_EQ(run.empty(2, 4), "release 0; release 1; release 2; finish exit-code 1 \"\"");
  EXPECT_EQ(run.how(1), How::stopped);
  EXPECT_EQ(run.how(2), How::killed);
  EXPECT_EQ(run.report().leftovers, 4u);
}

TEST(SupervisorFailure, NoGraceAtAll) {
  SupervisorConfig c = config(1);
  c.stop_grace = milliseconds(0);
  Script run(c, {0, 0});
  EXPECT_EQ(run.exited(0, code(1)), "stop 0 with 15; kill 0");
}

TEST(SupervisorFailure, DuplicatesAreHarmless) {
  Script run(config(2), {0, 1});
  EXPECT_EQ(run.at(seconds(1)).exited(0, code(1)), "stop 1 with 15");
  EXPECT_EQ(run.exited(0, code(2), milliseconds(1)), "");
  EXPECT_EQ(run.not_started(0, {}), "");
  EXPECT_EQ(run.empty(0, 1), "");
  EXPECT_EQ(run.empty(0, 1), "");
  (void)run.at(seconds(2)).exited(1, signal(SIGTERM));
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish exit-code 1 \"\"");
  EXPECT_EQ(run.report().leftovers, 1u);
}

TEST(SupervisorFailure, RanksThatDoNotExistAreIgnored) {
  Script run(config(1), {0});
  EXPECT_EQ(run.exited(1, code(1)), "");
  EXPECT_EQ(run.rank_started(4'000'000'000), "");
  EXPECT_EQ(run.not_started(7, {}), "");
}

TEST(SupervisorFailure, ANodeThatSaysEmptyTooEarlyIsNeverSuccess) {
  Script run(config(2), {0, 0, 1});
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.empty(0), "stop 1 with 15");
  (void)run.at(milliseconds(1)).exited(2, signal(SIGTERM));
  EXPECT_EQ(run.empty(1),
            "release 0; release 1; finish internal 70 \"node 0 did not report the end of 1 rank\"");
  EXPECT_EQ(run.how(1), How::lost);
}

// ---- lost nodes

TEST(SupervisorLostNode, OthersAreStoppedAndTheRunEndsWith69) {
  Script run(config(2), {0, 0, 1});
  (void)run.exited(1, code(0));
  EXPECT_EQ(run.at(seconds(1)).lost(0, "its agent was killed by SIGKILL"), "stop 1 with 15");
  EXPECT_EQ(run.exited(0, code(0)), "");  // nothing can come from there any more
  (void)run.at(seconds(2)).exited(2, signal(SIGTERM));
  EXPECT_EQ(run.empty(1), "release 1; finish node-lost 69 \"its agent was killed by SIGKILL\"");
  EXPECT_EQ(run.report().outcome.lost_nodes.front().node, NodeId{0});
  EXPECT_EQ(run.how(0), How::lost);
  EXPECT_EQ(run.how(1), How::exited);
  EXPECT_EQ(run.how(2), How::stopped);
}

TEST(SupervisorLostNode, TheOnlyNode) {
  Script run(config(1), {0});
  EXPECT_EQ(run.lost(0, "gone"), "finish node-lost 69 \"gone\"");
}

TEST(SupervisorLostNode, NeededUntilItIsEmpty) {
  Script run(config(1), {0});
  (void)run.exited(0, code(0));
  EXPECT_EQ(run.lost(0, "gone"), "finish node-lost 69 \"gone\"");
  EXPECT_EQ(run.how(0), How::exited);
}

TEST(SupervisorLostNode, AfterItIsEmptyItsLossIsIgnored) {
  Script run(config(2), {0, 1});
  (void)run.exited(0, code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.lost(0), "");
  (void)run.exited(1, code(0));
  EXPECT_EQ(run.empty(1), "release 1; finish success 0 \"\"");
}

TEST(SupervisorLostNode, WhileStoppingItOnlyClosesTheNode) {
  Script run(config(2), {0, 1});
  (void)run.exited(0, code(4));
  EXPECT_EQ(run.lost(1), "");
  EXPECT_EQ(run.empty(0), "release 0; finish exit-code 4 \"\"");
  EXPECT_EQ(run.how(1), How::lost);
}

}  // namespace
}  // namespace dlaunch
