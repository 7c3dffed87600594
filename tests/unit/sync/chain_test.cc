#include "sync/chain.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace dlaunch::sync {
namespace {

TEST(Chain, EachNodeFeedsTheNext) {
  const Chain chain({true, true, true});
  EXPECT_EQ(chain.source_of(0), std::nullopt);
  EXPECT_EQ(chain.source_of(1), 0U);
  EXPECT_EQ(chain.source_of(2), 1U);
}

TEST(Chain, NodesThatNeedNothingAreLeftOut) {
  const Chain chain({false, true, false, true});
  EXPECT_EQ(chain.source_of(1), std::nullopt);
  EXPECT_EQ(chain.source_of(2), std::nullopt);
  EXPECT_EQ(chain.source_of(3), 1U);
}

TEST(Chain, ABrokenLinkIsBridged) {
  Chain chain({true, true, true, true});
  chain.failed(2, 3);
  EXPECT_EQ(chain.source_of(3), 1U);
  EXPECT_EQ(chain.source_of(2), 1U) << "it is not that node's fault";
  chain.failed(1, 3);
  EXPECT_EQ(chain.source_of(3), std::nullopt) << "two have failed";
  chain.failed(0, 1);
  EXPECT_EQ(chain.source_of(1), std::nullopt);
}

TEST(Chain, ALostNodeIsBridgedAndIsNoTry) {
  Chain chain({true, true, true, true});
  for (const std::size_t node : {1U, 2U}) {
    chain.lost(node);
    chain.failed(node, 3);
  }
  EXPECT_EQ(chain.source_of(3), 0U);
  chain.lost(0);
  EXPECT_EQ(chain.source_of(3), std::nullopt);
}

TEST(Chain, NodesThatHoldEverythingComeFirst) {
  const Chain chain({true, false, true, true}, {false, true, true, false});
  EXPECT_EQ(chain.source_of(0), 2U);
  EXPECT_EQ(chain.source_of(3), 0U);
}

TEST(Chain, ASlowNodeComesLast) {
  Chain chain({true, true, true});
  chain.move_to_end(0);
  EXPECT_EQ(chain.source_of(1), std::nullopt);
  EXPECT_EQ(chain.source_of(2), 1U);
  EXPECT_EQ(chain.source_of(0), 2U);
}

TEST(Chain, OnlyTheLauncherFeedsANodeThatIsAlone) {
  EXPECT_FALSE(Chain({true, false}).may_have_source(0));
  EXPECT_TRUE(Chain({true, true}).may_have_source(0));
  EXPECT_FALSE(Chain({true, true, false}).may_have_source(2));
}

TEST(Chain, NeverRunsInACircle) {
  const bool passed = rc::check("from source to source, each node comes once", [] {
    const auto forwards = *rc::gen::nonEmpty<std::vector<bool>>();
    const auto holds =
        *rc::gen::container<std::vector<bool>>(forwards.size(), rc::gen::arbitrary<bool>());
    Chain chain(forwards, holds);
    const auto node = rc::gen::inRange<std::size_t>(0, forwards.size());
    for (const auto& [a, b] : *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(
             rc::gen::pair(node, node))) {
      chain.failed(a, b);
      chain.move_to_end(b);
      if (a == b) chain.lost(a);
    }
    for (std::size_t i = 0; i < forwards.size(); ++i) {
      std::size_t steps = 0;
      for (auto at = std::optional(i); at; at = chain.source_of(*at)) {
        RC_ASSERT(*at == i || forwards[*at]);
        RC_ASSERT(++steps <= forwards.size());
      }
    }
  });
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace dlaunch::sync
