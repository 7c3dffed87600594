#include "plan/success.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

LaunchPlan with_roles(const std::vector<std::string>& roles) {
  LaunchPlan plan;
  for (std::uint32_t i = 0; i < roles.size(); ++i) {
    plan.ranks.emplace_back();
    plan.ranks.back().rank = Rank(i);
    plan.ranks.back().role = roles[i];
  }
  return plan;
}

JobSpec job(Success success) {
  JobSpec spec;
  spec.success = success;
  return spec;
}

using Bits = std::vector<bool>;

TEST(DecidingRanks, All) {
  EXPECT_EQ(deciding_ranks(job(Success::all), with_roles({"worker", "ps"})), (Bits{true, true}));
}

// TensorFlow's distributed guide: in a cluster without a chief worker 0 does the chief's work.
TEST(DecidingRanks, TheChiefIsRankZero) {
  EXPECT_EQ(deciding_ranks(job(Success::chief), with_roles({"chief", "worker", "ps"})),
            (Bits{true, false, false}));
  EXPECT_EQ(deciding_ranks(job(Success::chief), with_roles({"worker", "worker", "ps"})),
            (Bits{true, false, false}));
  EXPECT_EQ(deciding_ranks(job(Success::chief), with_roles({"default", "default"})),
            (Bits{true, false}));
}

TEST(DecidingRanks, WorkersAreAllButServersAndEvaluators) {
  EXPECT_EQ(
      deciding_ranks(job(Success::workers), with_roles({"chief", "worker", "ps", "evaluator"})),
      (Bits{true, true, false, false}));
  EXPECT_EQ(deciding_ranks(job(Success::workers), with_roles({"default", "default"})),
            (Bits{true, true}));
}

TEST(DecidingRanks, ServersMakeWorkersTheDefault) {
  EXPECT_EQ(success_rule(job(Success::automatic), with_roles({"worker", "ps"})), Success::workers);
  EXPECT_EQ(success_rule(job(Success::automatic), with_roles({"chief", "worker"})), Success::all);
  EXPECT_EQ(success_rule(job(Success::all), with_roles({"worker", "ps"})), Success::all);
  EXPECT_EQ(success_rule(job(Success::automatic), with_roles({"default"})), Success::all);
  // Only servers: nothing would ever stop them.
  EXPECT_EQ(success_rule(job(Success::automatic), with_roles({"ps"})), Success::all);
}

}  // namespace
}  // namespace dlaunch
