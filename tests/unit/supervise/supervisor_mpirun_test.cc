// Attempts whose ranks mpirun starts, on node 0.
#include "script.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

class MpirunScript : public Script {
 public:
  /// Rank i on node_of_rank[i]; none has started.
  MpirunScript(const SupervisorConfig& config, const std::vector<std::uint32_t>& node_of_rank)
      : Script(config) {
    (void)start();
    for (const auto& [node, name] : config.nodes) (void)ready(node.value);
    event::PlanMade made;
    for (const std::uint32_t node : node_of_rank) made.node_of_rank.emplace_back(node);
    made.starter = {NodeId(0), "mpirun"};
    (void)on(made);
  }
  MpirunScript& at(milliseconds since_start) {
    (void)Script::at(since_start);
    return *this;
  }
  std::string mpirun_ended(ExitStatus status, bool after_signal = false,
                           milliseconds when = milliseconds(0)) {
    event::StarterEnded end;
    end.status = std::move(status);
    end.at = wall_at(when);
    end.after_signal = after_signal;
    end.said = "its words";
    return on(end);
  }
};

/// A consequence of mpirun's end: dlaunch had not told the rank to end.
std::string ended_with_mpirun(MpirunScript& run, std::uint32_t rank, ExitStatus status) {
  event::RankExited exited{Attempt(0), Rank(rank), std::move(status), wall_at(seconds(1))};
  exited.after_signal = true;
  return run.on(exited);
}

SupervisorConfig with_a_restart(SupervisorConfig settings) {
  settings.restart.max = 1;
  settings.restart.backoff_min = settings.restart.backoff_max = seconds(5);
  return settings;
}

SupervisorConfig two_nodes() {
  SupervisorConfig settings = config(2);
  settings.connect_limit = seconds(30);
  return settings;
}

TEST(SupervisorMpirun, EndsByItselfAfterItsRanks) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  EXPECT_EQ(run.exited(0, code(0)), "");
  // mpirun is still needed for rank 1, so node 0 need not be empty.
  EXPECT_EQ(run.at(seconds(3600)).on(event::Tick{}), "");
  EXPECT_EQ(run.exited(1, code(0)), "");
  EXPECT_EQ(run.empty(1), "");
  EXPECT_EQ(run.mpirun_ended(code(0)), "");
  EXPECT_EQ(run.empty(0), "release 0; release 1; finish success 0 \"\"");
}

TEST(SupervisorMpirun, IsKilledWhereItDoesNotEnd) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  (void)run.at(seconds(1)).exited(0, code(0));
  (void)run.exited(1, code(0));
  (void)run.empty(1);
  EXPECT_EQ(run.at(seconds(12)).on(event::Tick{}), "kill 0");
  EXPECT_EQ(run.mpirun_ended(signal(SIGKILL), true), "");
  EXPECT_EQ(run.empty(0), "release 0; release 1; finish success 0 \"\"");
}

TEST(SupervisorMpirun, IsStoppedWhenTheRanksAreAfterAFailure) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  EXPECT_EQ(run.at(seconds(1)).exited(1, code(7)), "stop 0 with 15");
  EXPECT_EQ(run.empty(1), "");
  EXPECT_EQ(run.at(seconds(2)).exited(0, signal(SIGTERM)), "stop 0 with 15");
  EXPECT_EQ(run.mpirun_ended(code(1), true), "");
  EXPECT_EQ(run.empty(0), "release 0; release 1; finish exit-code 7 \"\"");
}

TEST(SupervisorMpirun, ItsOwnFailureIsTheCauseWhereNoRankHasFailed) {
  MpirunScript run(two_nodes(), {0, 1});
  EXPECT_EQ(run.at(seconds(1)).mpirun_ended(code(213)), "stop 0 with 15; stop 1 with 15");
  EXPECT_EQ(run.empty(1), "");
  EXPECT_EQ(run.empty(0),
            "release 0; release 1; finish mpirun 213 \"mpirun on node 0 exited with code 213\"");
  EXPECT_EQ(run.report().outcome.said, "its words");
  EXPECT_FALSE(run.report().outcome.from_rank);
}

// Events of other nodes may arrive after that of mpirun's end, which they caused.
TEST(SupervisorMpirun, ARankThatHasFailedByItselfSaysMore) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  EXPECT_EQ(run.at(seconds(1)).mpirun_ended(code(1)), "stop 0 with 15; stop 1 with 15");
  (void)run.exited(1, code(7));
  (void)run.at(seconds(2)).exited(0, signal(SIGTERM));
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish exit-code 7 \"\"");
}

TEST(SupervisorMpirun, WhatFollowsFromItsDeathIsNotTheCause) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  (void)run.at(seconds(2)).exited(1, code(1));  // it lost its server
  (void)run.mpirun_ended(signal(SIGKILL), false, seconds(1));
  (void)run.exited(0, signal(SIGTERM));
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1),
            "release 0; release 1; finish mpirun 137 \"mpirun on node 0 was killed by SIGKILL\"");
}

TEST(SupervisorMpirun, AllRanksMustBegin) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  EXPECT_EQ(run.at(seconds(61)).on(event::Tick{}), "stop 0 with 15; stop 1 with 15");
  (void)run.empty(1);
  (void)run.exited(0, signal(SIGTERM));
  (void)run.mpirun_ended(code(1), true);
  EXPECT_EQ(run.empty(0),
            "release 0; release 1; finish mpirun 124 \"mpirun on node 0 started 1 of 2 ranks "
            "within 1 min (twice timeouts.connect)\"");
}

// MPI_Abort with code 0, or a wrapper around mpirun that loses its code.
TEST(SupervisorMpirun, EndingRanksWithCode0FailsTheRun) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  EXPECT_EQ(ended_with_mpirun(run, 0, signal(SIGTERM)), "");
  EXPECT_EQ(run.mpirun_ended(code(0)), "");
  EXPECT_EQ(ended_with_mpirun(run, 1, code(1)), "");
  EXPECT_EQ(run.empty(1), "");
  EXPECT_EQ(run.empty(0),
            "release 0; release 1; finish mpirun 70 \"mpirun ended ranks, but exited with code "
            "0\"");
}

TEST(SupervisorMpirun, EndingRanksWithCode0IsFollowedByARestart) {
  MpirunScript run(with_a_restart(two_nodes()), {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  (void)ended_with_mpirun(run, 0, signal(SIGTERM));
  (void)run.mpirun_ended(code(0));
  (void)ended_with_mpirun(run, 1, code(1));
  (void)run.at(seconds(3)).empty(1);
  EXPECT_THAT(run.empty(0), testing::StartsWith("attempt 1 follows; tell "));
  EXPECT_EQ(run.supervisor().phase(), Phase::wait);
  EXPECT_EQ(run.deadline(), seconds(8));
  EXPECT_EQ(run.at(seconds(8)).tick(), "gather 0 for 1; gather 1 for 1");
}

// It waits for a node to become empty, and for no rank.
TEST(SupervisorMpirun, NoRankIsAStragglerWhenMpirunEndedTheLastOne) {
  SupervisorConfig settings = two_nodes();
  settings.stragglers_limit = seconds(3);
  MpirunScript run(settings, {0, 1});
  (void)run.rank_started(0);
  (void)run.rank_started(1);
  (void)run.at(seconds(1)).exited(0, code(0));
  EXPECT_EQ(run.deadline(), seconds(4));
  (void)ended_with_mpirun(run, 1, signal(SIGTERM));
  (void)run.mpirun_ended(code(0));
  EXPECT_EQ(run.at(seconds(4)).tick(), "");
  (void)run.empty(1);
  EXPECT_THAT(run.empty(0), testing::HasSubstr("finish mpirun 70"));
}

TEST(SupervisorMpirun, ACancelEndsTheWaitAfterThat) {
  MpirunScript run(with_a_restart(two_nodes()), {0});
  (void)run.rank_started(0);
  (void)ended_with_mpirun(run, 0, signal(SIGTERM));
  (void)run.mpirun_ended(code(0));
  (void)run.empty(0);
  EXPECT_EQ(run.cancel(SIGINT), "release 0; release 1; finish cancelled 130 \"\"");
}

TEST(SupervisorMpirun, OneThatEndsWellHasStartedAll) {
  MpirunScript run(two_nodes(), {0, 1});
  (void)run.rank_started(0);
  EXPECT_EQ(run.at(seconds(1)).mpirun_ended(code(0)), "");
  EXPECT_EQ(run.at(seconds(10)).on(event::Tick{}), "");
  EXPECT_EQ(run.at(seconds(12)).on(event::Tick{}), "stop 0 with 15; stop 1 with 15");
}

}  // namespace
}  // namespace dlaunch
