#include "launch/stage/stage_settings.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

class StageSettingsTest : public testing::Test {
 protected:
  StageSettingsTest() {
    spec_.stage = {{"/from", "/to", false}};
    for (std::uint32_t i = 0; i < 2; ++i) {
      Node& node = cluster_.nodes.emplace_back();
      node.id = NodeId(i);
      node.name = "node" + std::to_string(i);
      node.is_launcher = i == 1;
    }
  }
  StageRunSettings settings() {
    auto parts = stage_parts(spec_, {}, cluster_, StageTo::cluster, "/home/me", {});
    EXPECT_TRUE(parts && parts->size() == 1);
    return parts && !parts->empty() ? std::move(parts->front().settings) : StageRunSettings();
  }

  JobSpec spec_;
  Cluster cluster_;
};

TEST_F(StageSettingsTest, NodesMayConnectToTheLauncherForLargeFiles) {
  const StageRunSettings found = settings();
  ASSERT_TRUE(found.own_addresses);
  EXPECT_THAT(found.own_addresses(0), testing::Not(testing::Contains("127.0.0.1")));
  EXPECT_THAT(found.own_addresses(1), testing::IsEmpty()) << "the launcher's own machine";
  EXPECT_GT(found.least_direct, 0U);
  EXPECT_EQ(found.reach, Duration(1000));
  spec_.rendezvous.interface = "none9";
  EXPECT_THAT(settings().own_addresses(0), testing::IsEmpty());
}

TEST_F(StageSettingsTest, NothingListensIfTheLauncherIsToSend) {
  spec_.stage_via = StageVia::launcher;
  EXPECT_FALSE(settings().own_addresses);
}

}  // namespace
}  // namespace dlaunch
