#include "launch/mpi/pmix_relay.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Letters = std::vector<PmixRelay::Letter>;

constexpr Attempt kAttempt(2);

/// 2 + 1 + 1 ranks on three nodes.
class PmixRelayTest : public testing::Test {
 protected:
  PmixRelayTest() {
    LaunchPlan plan;
    plan.attempt = kAttempt;
    plan.nodes.resize(3);
    for (std::uint32_t i = 0; i < 3; ++i) plan.nodes[i].id = NodeId(i);
    for (const std::uint32_t node : {0U, 0U, 1U, 2U}) {
      const Rank rank(static_cast<std::uint32_t>(plan.ranks.size()));
      plan.ranks.emplace_back().node = NodeRank(node);
      plan.nodes[node].ranks.push_back(rank);
    }
    relay_ = PmixRelay(plan);
  }
  Letters fence(std::uint32_t node, std::string bytes, std::vector<RankSpan> members = {},
                std::uint64_t counter = 0, std::int32_t status = 0) {
    return relay_.on(NodeId(node), wire::PmixFence{kAttempt, counter, status, std::move(members),
                                                   std::move(bytes)});
  }
  PmixRelay relay_;
};

TEST_F(PmixRelayTest, AFenceIsOverWhenAllNodesHaveCome) {
  EXPECT_THAT(fence(1, "b"), IsEmpty());
  EXPECT_THAT(fence(0, "a"), IsEmpty());
  const Letters over = fence(2, "c");
  ASSERT_EQ(over.size(), 1U);
  EXPECT_THAT(over[0].to, ElementsAre(NodeId(0), NodeId(1), NodeId(2)));
  EXPECT_EQ(over[0].message, wire::ToAgent(wire::PmixFence{kAttempt, 0, 0, {}, "bac"}));
}

TEST_F(PmixRelayTest, FencesAreToldApartByMembersAndNumber) {
  const std::vector<RankSpan> some = {{Rank(1), 2}};  // nodes 0 and 1
  EXPECT_THAT(fence(0, "all"), IsEmpty());
  EXPECT_THAT(fence(0, "x", some), IsEmpty());
  EXPECT_THAT(fence(0, "later", some, 1), IsEmpty());
  const Letters first = fence(1, "y", some);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_THAT(first[0].to, ElementsAre(NodeId(0), NodeId(1)));
  EXPECT_EQ(std::get<wire::PmixFence>(first[0].message).bytes, "xy");
  const Letters second = fence(1, "z", some, 1);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(std::get<wire::PmixFence>(second[0].message).bytes, "laterz");
}

TEST_F(PmixRelayTest, WhatWentWrongOnOneNodeIsToldToAll) {
  EXPECT_THAT(fence(0, "a"), IsEmpty());
  EXPECT_THAT(fence(1, "b", {}, 0, -61), IsEmpty());
  const Letters over = fence(2, "c");
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].message, wire::ToAgent(wire::PmixFence{kAttempt, 0, -61, {}, ""}));
}

TEST_F(PmixRelayTest, MoreBytesThanAFrameHoldsAreAnErrorForAll) {
  EXPECT_THAT(fence(0, std::string(wire::kMostPmixBytes, 'x')), IsEmpty());
  EXPECT_THAT(fence(1, "y"), IsEmpty());
  const Letters over = fence(2, "");
  ASSERT_EQ(over.size(), 1U);
  const auto& sum = std::get<wire::PmixFence>(over[0].message);
  EXPECT_NE(sum.status, 0);
  EXPECT_TRUE(sum.bytes.empty());
}

/// The other members never arrive, so the fences are held.
TEST_F(PmixRelayTest, AllFencesTogetherHoldNoMoreThanALauncherCanBear) {
  const std::string large(wire::kMostPmixBytes, 'x');
  for (std::uint64_t counter = 0; counter < 20; ++counter)
    EXPECT_THAT(fence(0, large, {}, counter), IsEmpty());
  const auto status = [&](std::uint64_t counter) {
    EXPECT_THAT(fence(1, "", {}, counter), IsEmpty());
    const Letters over = fence(2, "", {}, counter);
    return over.size() == 1 ? std::get<wire::PmixFence>(over[0].message).status : 1;
  };
  EXPECT_EQ(status(0), 0);
  EXPECT_NE(status(19), 0);
  EXPECT_THAT(fence(0, large, {}, 20), IsEmpty());  // in the place of the first
  EXPECT_EQ(status(20), 0);
}

TEST_F(PmixRelayTest, AgentsThatSayWhatTheyCannotKnowChangeNothing) {
  EXPECT_THAT(fence(0, "a"), IsEmpty());
  EXPECT_THAT(fence(0, "again"), IsEmpty());
  EXPECT_THAT(fence(2, "not a member", {{Rank(0), 3}}), IsEmpty());
  EXPECT_THAT(relay_.on(NodeId(1), wire::PmixFence{Attempt(1), 0, 0, {}, "of before"}), IsEmpty());
  EXPECT_THAT(relay_.on(NodeId(1), wire::PmixData{kAttempt, 1, 0, "not requested"}), IsEmpty());
  // Members that are not ranks: an error for the sender.
  const Letters refused = fence(1, "x", {{Rank(3), 1U << 20}});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_THAT(refused[0].to, ElementsAre(NodeId(1)));
  EXPECT_NE(std::get<wire::PmixFence>(refused[0].message).status, 0);
  EXPECT_THAT(fence(1, "b"), IsEmpty());
  EXPECT_EQ(std::get<wire::PmixFence>(fence(2, "c").at(0).message).bytes, "abc");
}

TEST_F(PmixRelayTest, AQuestionGoesToTheNodeOfTheRankAndItsAnswerBack) {
  const Letters asked = relay_.on(NodeId(0), wire::PmixWanted{kAttempt, 7, Rank(3)});
  const Letters other = relay_.on(NodeId(1), wire::PmixWanted{kAttempt, 7, Rank(3)});
  ASSERT_EQ(asked.size(), 1U);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_THAT(asked[0].to, ElementsAre(NodeId(2)));
  const auto first = std::get<wire::PmixWanted>(asked[0].message);
  const auto second = std::get<wire::PmixWanted>(other[0].message);
  EXPECT_EQ(first.rank, Rank(3));
  EXPECT_NE(first.id, second.id);
  // Not from a node that was not asked.
  EXPECT_THAT(relay_.on(NodeId(1), wire::PmixData{kAttempt, first.id, 0, "false"}), IsEmpty());
  const Letters answer = relay_.on(NodeId(2), wire::PmixData{kAttempt, second.id, 0, "data"});
  ASSERT_EQ(answer.size(), 1U);
  EXPECT_THAT(answer[0].to, ElementsAre(NodeId(1)));
  EXPECT_EQ(answer[0].message, wire::ToAgent(wire::PmixData{kAttempt, 7, 0, "data"}));
  EXPECT_THAT(relay_.on(NodeId(2), wire::PmixData{kAttempt, second.id, 0, "twice"}), IsEmpty());
}

TEST_F(PmixRelayTest, ARankThatIsNoneIsNotFound) {
  const Letters answer = relay_.on(NodeId(1), wire::PmixWanted{kAttempt, 7, Rank(4)});
  ASSERT_EQ(answer.size(), 1U);
  EXPECT_THAT(answer[0].to, ElementsAre(NodeId(1)));
  EXPECT_EQ(answer[0].message, wire::ToAgent(wire::PmixData{kAttempt, 7, -46, ""}));
}

// ---- PMI-1

class Pmi1RelayTest : public PmixRelayTest {
 protected:
  Letters barrier(std::uint32_t node, std::string bytes, std::uint64_t number = 0,
                  std::int32_t status = 0) {
    return relay_.on(NodeId(node),
                     wire::PmixFence{kAttempt, number, status, {}, std::move(bytes), true});
  }
  static void expect_failed(const Letters& letters, std::int32_t status) {
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_THAT(letters[0].to, ElementsAre(NodeId(0), NodeId(1), NodeId(2)));
    EXPECT_EQ(letters[0].message,
              wire::ToAgent(wire::PmixFence{kAttempt, 0, status, {}, "", true}));
  }
};

TEST_F(Pmi1RelayTest, ABarrierIsAFenceOfAllRanks) {
  EXPECT_THAT(barrier(1, "b"), IsEmpty());
  EXPECT_THAT(barrier(0, "a"), IsEmpty());
  const Letters over = barrier(2, "c");
  ASSERT_EQ(over.size(), 1U);
  EXPECT_THAT(over[0].to, ElementsAre(NodeId(0), NodeId(1), NodeId(2)));
  EXPECT_EQ(over[0].message, wire::ToAgent(wire::PmixFence{kAttempt, 0, 0, {}, "bac", true}));
  EXPECT_THAT(barrier(0, "", 1), IsEmpty()) << "the next one";
}

TEST_F(Pmi1RelayTest, OneThatCannotComeAboutEndsAllOfThem) {
  EXPECT_THAT(barrier(1, "b", 4), IsEmpty());
  expect_failed(barrier(0, "", 4, wire::kPmi1RankGone), wire::kPmi1RankGone);
  EXPECT_THAT(barrier(1, "", 5), IsEmpty()) << "everybody knows already";
  EXPECT_THAT(barrier(2, "", 5, wire::kPmi1RankGone), IsEmpty());
}

TEST_F(Pmi1RelayTest, RanksOfTwoLibrariesDoNotWaitForEachOther) {
  EXPECT_THAT(fence(0, "pmix"), IsEmpty());
  expect_failed(barrier(1, "pmi-1"), wire::kPmi1Mixed);
}

TEST_F(Pmi1RelayTest, TheOtherWayRound) {
  EXPECT_THAT(barrier(1, "pmi-1"), IsEmpty());
  expect_failed(fence(0, "pmix"), wire::kPmi1Mixed);
}

TEST_F(Pmi1RelayTest, OneAfterTheOtherIsNoMixture) {
  for (const std::uint32_t node : {0U, 1U, 2U}) (void)fence(node, "");
  EXPECT_THAT(barrier(0, ""), IsEmpty());
  EXPECT_THAT(barrier(1, ""), IsEmpty());
  EXPECT_EQ(barrier(2, "").size(), 1U);
}

TEST_F(Pmi1RelayTest, MoreThanAFrameHoldsIsNotPassedOn) {
  EXPECT_THAT(barrier(0, std::string(wire::kMostPmixBytes / 2, 'x')), IsEmpty());
  expect_failed(barrier(1, std::string(wire::kMostPmixBytes / 2 + 2, 'x')), wire::kPmi1TooMuch);
}

}  // namespace
}  // namespace dlaunch
