#include "measure/figures/statistics.h"

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

// Expected values by numpy.quantile's default method.
TEST(Quantile, InterpolatesBetweenNeighbours) {
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(quantile(values, 2), 4);
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({7}, 0.99), 7);
}

TEST(Summarize, NeedsNoOrder) {
  const Summary summary = summarize({4, 1, 3, 2});
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 4);
  EXPECT_DOUBLE_EQ(summary.mean, 2.5);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.p90, 3.7);
  EXPECT_EQ(summarize({}), Summary{});
}

}  // namespace
}  // namespace dlaunch::measure
