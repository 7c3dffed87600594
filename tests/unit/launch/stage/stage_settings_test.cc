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

TEST_F(StageSettingsTest, NodesWithSlowNetworkCardsComeLast) {
  const std::vector<std::vector<std::uint32_t>> cards = {
      {1000}, {10'000}, {}, {1000, 25'000}, {100}};
  cluster_.nodes.clear();
  for (const auto& speeds : cards) {
    Node& node = cluster_.nodes.emplace_back();
    node.id = NodeId(static_cast<std::uint32_t>(cluster_.nodes.size()));
    node.name = "node" + std::to_string(cluster_.nodes.size());
    for (const std::uint32_t speed : speeds) {
      NetworkInterface& card = node.facts.interfaces.emplace_back();
      card.is_up = true;
      card.speed_mbit = speed;
      card.addresses = {{"10.0.0.1", 24}};
    }
  }
  const auto order = [this] {
    std::vector<std::string> names;
    for (const auto& to : settings().nodes) names.push_back(to.name);
    return names;
  };
  // The median is 10 Gbit/s; what is not known counts as fast.
  EXPECT_THAT(order(), testing::ElementsAre("node2", "node3", "node4", "node1", "node5"));
  cluster_.nodes[1].facts.interfaces[0].is_up = false;
  cluster_.nodes[3].facts.interfaces[1].addresses.clear();
  EXPECT_THAT(order(), testing::ElementsAre("node1", "node2", "node3", "node4", "node5"));
}

TEST_F(StageSettingsTest, OnlyCardsThatStagingMayUseCount) {
  cluster_.nodes.resize(1);
  cluster_.nodes.resize(3, cluster_.nodes.front());
  for (std::uint32_t i = 0; i < 3; ++i) {
    Node& node = cluster_.nodes[i];
    node.id = NodeId(i);
    node.name = "node" + std::to_string(i);
    const std::string last = std::to_string(i + 1);
    NetworkInterface slow{.name = "eth0", .is_up = true, .speed_mbit = i == 0 ? 100U : 1000U};
    slow.addresses = {{"10.0.0." + last, 24}};
    NetworkInterface fast{.name = "ib0", .is_up = true, .speed_mbit = 200'000};
    fast.addresses = {{"10.1.0." + last, 24}};
    node.facts.interfaces = {slow, fast};
  }
  EXPECT_EQ(settings().nodes.front().name, "node0");
  spec_.rendezvous.interface = "eth*";
  EXPECT_EQ(settings().nodes.front().name, "node1");
  EXPECT_EQ(settings().nodes.back().name, "node0");
}

TEST_F(StageSettingsTest, NothingListensIfTheLauncherIsToSend) {
  spec_.stage_via = StageVia::launcher;
  EXPECT_FALSE(settings().own_addresses);
}

}  // namespace
}  // namespace dlaunch
