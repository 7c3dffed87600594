#include "launch/mpi/mpi_side.h"

#include <gmock/gmock.h>

#include "../engine/side_fixture.h"

namespace dlaunch {
namespace {

class MpiSideTest : public SideTest {
 protected:
  MpiSideTest() : plan_(make_plan()), mpi_(options_, nodes_, store_, *screen_) {
    plan_.mpirun = MpirunPlan{};
    plan_.mpirun->argv = {"mpirun"};
    mpi_.begin(plan_);
  }

  LaunchPlan plan_;
  MpiSide mpi_;
};

TEST_F(MpiSideTest, MpirunBeginsOnNode0WhenAllNodesAwaitTheirRanks) {
  mpi_.on(node(2), wire::RanksAwaited{Attempt(0)});
  mpi_.on(node(0), wire::RanksAwaited{Attempt(0)});
  EXPECT_TRUE(nodes_.sent_.empty());
  mpi_.on(node(1), wire::RanksAwaited{Attempt(0)});
  ASSERT_EQ(nodes_.sent_.size(), 1U);
  EXPECT_EQ(nodes_.sent<wire::StartMpirun>()[0].first, node(0));
}

TEST_F(MpiSideTest, WhatMpirunSaysIsLoggedAndShownUntilARankFails) {
  mpi_.on(node(0), wire::MpirunOutput{Attempt(0), "a warning\n"});
  EXPECT_EQ(shown(), "[mpirun] a warning\n");
  mpi_.tell(exited(1, 0));
  mpi_.on(node(1), wire::MpirunOutput{Attempt(0), "not its node\n"});
  mpi_.tell(exited(1, 3));
  mpi_.on(node(0), wire::MpirunOutput{Attempt(0), "killed by\nme"});
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(file("attempt-0/mpirun.log"), "a warning\nkilled by\nme");
}

TEST_F(MpiSideTest, ItsLastLinesExplainItsEnd) {
  mpi_.on(node(0), wire::MpirunOutput{Attempt(0), "first\nlast"});
  event::StarterEnded end;
  mpi_.complete(end);
  EXPECT_THAT(end.said, testing::HasSubstr("last"));
  event::StarterEnded other;
  other.attempt = Attempt(5);
  mpi_.complete(other);
  EXPECT_EQ(other.said, "");
}

TEST_F(MpiSideTest, AFenceThatAllNodesHaveReachedGoesToAll) {
  for (std::uint32_t place = 0; place < kNodes; ++place) {
    EXPECT_TRUE(nodes_.sent_.empty());
    mpi_.on(node(place), wire::PmixFence{Attempt(0), 0, 0, {}, "x"});
  }
  const auto sent = nodes_.sent<wire::PmixFence>();
  ASSERT_EQ(sent.size(), kNodes);
  EXPECT_EQ(sent[2].second.bytes, "xxx");
}

}  // namespace
}  // namespace dlaunch
