#include "launch/session/plan_preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/make_plan.h"
#include "report/plan_json.h"
#include "report/plan_text.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

LaunchPlan plan_of(const JobSpec& spec, const Cluster& cluster) {
  auto plan = make_plan(spec, cluster, {});
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return plan.value_or(LaunchPlan());
}

class AssumedCluster : public testing::Test {
 protected:
  AssumedCluster() {
    spec_.command.argv = {"true"};
    spec_.hosts.hosts = {{"gpu01", 2, "", "", 0}, {"gpu02", 3, "10.0.0.2", "", 0}};
  }
  Cluster cluster() const {
    auto made = assumed_cluster(spec_, {"login", {"10.0.0.9"}, "me"});
    EXPECT_TRUE(made.has_value());
    return made.value_or(Cluster());
  }
  JobSpec spec_;
};

TEST_F(AssumedCluster, RanksGoBySlotsAndWhatIsNotKnownIsMarked) {
  const Cluster cluster = this->cluster();
  const LaunchPlan plan = plan_of(spec_, cluster);
  EXPECT_EQ(plan.ranks.size(), 5U);
  EXPECT_EQ(plan.master.address, "gpu01");
  const std::string text = plan_text(plan, cluster);
  EXPECT_THAT(text, HasSubstr("nothing was tried"));
  EXPECT_THAT(text, HasSubstr("offline: no node was contacted"));
  EXPECT_THAT(text, testing::ContainsRegex("4 +gpu02 +2 +\\? +\\? +\\?"));
  EXPECT_THAT(plan_json(plan, &cluster), HasSubstr("\"facts\": null"));
}

TEST_F(AssumedCluster, WithoutSlotsItIsOneRankANode) {
  for (HostSpec& host : spec_.hosts.hosts) host.slots = 0;
  EXPECT_EQ(plan_of(spec_, cluster()).ranks.size(), 2U);
}

TEST_F(AssumedCluster, RanksForEachGpuNeedSlots) {
  spec_.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
  EXPECT_EQ(plan_of(spec_, cluster()).ranks.size(), 5U);
  for (HostSpec& host : spec_.hosts.hosts) host.slots = 0;
  const auto plan = make_plan(spec_, cluster(), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message, HasSubstr("unknown with --offline; give the hosts slots"));
}

TEST_F(AssumedCluster, AGpuForEachProcessIsTakenOnTrust) {
  spec_.binding.gpus = Binding::Gpus::one_per_process;
  EXPECT_EQ(plan_of(spec_, cluster()).ranks.size(), 5U);
}

TEST_F(AssumedCluster, EveryTaskHasAPort) {
  spec_.framework = Framework::tensorflow;
  const LaunchPlan plan = plan_of(spec_, cluster());
  for (const RankPlan& rank : plan.ranks) EXPECT_FALSE(rank.ports.empty());
}

}  // namespace
}  // namespace dlaunch
