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

TEST(Chain, NeverRunsInACircle) {
  const bool passed = rc::check("sources come before the nodes that they feed", [] {
    const auto forwards = *rc::gen::nonEmpty<std::vector<bool>>();
    Chain chain(forwards);
    const auto node = rc::gen::inRange<std::size_t>(0, forwards.size());
    for (const auto& [a, b] : *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(
             rc::gen::pair(node, node)))
      chain.failed(a, b);
    for (std::size_t i = 0; i < forwards.size(); ++i) {
      const auto source = chain.source_of(i);
      RC_ASSERT(!source || (*source < i && forwards[*source] && forwards[i]));
    }
  });
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace dlaunch::sync
