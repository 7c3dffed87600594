#include "launch/watch/slow_side.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(SlowText, NamesTheRankItsFactorAndItsNode) {
  EXPECT_EQ(slow_text({Rank(5), true, 1.84}, "node2", "398 % of 400 % CPU in use"),
            "rank 5 on node2 is slow: its steps take 1.8 times as long as the median of the other "
            "ranks; node2: 398 % of 400 % CPU in use");
  EXPECT_EQ(slow_text({Rank(5), true, 2}, "node2", ""),
            "rank 5 on node2 is slow: its steps take 2.0 times as long as the median of the other "
            "ranks");
  EXPECT_EQ(slow_text({Rank(5), false, 1}, "node2", "x"),
            "rank 5 on node2 is as fast as the others again");
}

}  // namespace
}  // namespace dlaunch
