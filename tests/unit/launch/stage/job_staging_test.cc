// Files of a node: what its agent may order other nodes to do. Agents are recorded messages.
#include "launch/stage/job_staging.h"

#include <gtest/gtest.h>

#include "wire/codec.h"

namespace dlaunch {
namespace {

constexpr NodeId kSource{1};
constexpr NodeId kOther{2};

struct JobStagingTest : testing::Test {
  JobStagingTest() {
    staging.begin({{kSource, from_node()}});
    id = std::get<wire::StageFrom>(sent.at(0).second).id;
    sent.clear();
  }
  static StageRunSettings from_node() {
    StageRunSettings settings;
    settings.self = "gpu1";
    settings.by = "run 1";
    settings.items = {{"/data/corpus", "/local/corpus"}, {"/data/w.bin", "/local/w.bin"}};
    settings.nodes = {{kSource, "gpu1"}, {kOther, "gpu2"}};
    settings.addresses = [](std::size_t, std::size_t) {
      return std::vector<std::string>{"10.0.0.1"};
    };
    settings.own_addresses = [](std::size_t) { return std::vector<std::string>(); };
    return settings;
  }
  template <class Order>
  void order(const Order& one, NodeId to = kOther, NodeId from = kSource) {
    const wire::Frame frame = wire::encode(one);
    staging.on(from, wire::StageLetter{id, to, frame.type, frame.payload});
  }
  void begin(const std::vector<std::string>& roots) {
    wire::StageBegin message;
    message.id = 1;
    message.roots = roots;
    message.by = "someone else";
    message.origins = {{"", "", "/local/corpus", true}, {"", "", "/local/w.bin", true}};
    order(message);
  }
  void announce(std::uint32_t root, const std::string& path) {
    order(wire::StageEntries{1, {{root, {path, SyncEntry::Kind::file, 0644, 4, 1, ""}, ""}}, true});
  }

  EventLoop loop;
  std::vector<std::pair<NodeId, wire::ToAgent>> sent;
  std::vector<Status> ends;
  std::function<void()> then;  // at the next end
  std::uint32_t id = 0;
  JobStaging staging{
      loop,
      {.send = [this](NodeId node, wire::ToAgent message) { sent.emplace_back(node, message); },
       .staged = [](const StageReport&) {},
       .done =
           [this](const Status& status) {
             ends.push_back(status);
             if (then) std::exchange(then, nullptr)();
           },
       .show = [](const std::string&) {},
       .note = [](const std::string&) {}}};
};

TEST_F(JobStagingTest, OrdersAboutTheTargetsArePassedOnAndAnswersGoBack) {
  begin({"/local/corpus", "/local"});
  announce(0, "deep/er/a");
  announce(1, "w.bin");
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[2].first, kOther);
  EXPECT_TRUE(std::holds_alternative<wire::StageEntries>(sent[2].second));
  const auto& begun = std::get<wire::StageBegin>(sent[0].second);
  EXPECT_EQ(begun.by, "run 1") << "the launcher says who stages";
  EXPECT_TRUE(begun.origins[0].removes);
  EXPECT_FALSE(begun.origins[1].removes) << "beside a file nothing is removed";
  staging.on(kOther, wire::StageReady{1});
  staging.on(kOther, wire::StageReady{2});
  ASSERT_EQ(sent.size(), 4U) << "an answer to another agent's order is not for this one";
  EXPECT_EQ(sent[3].first, kSource);
  EXPECT_EQ(std::get<wire::StageLetter>(sent[3].second).node, kOther);
  EXPECT_TRUE(ends.empty());
}

TEST_F(JobStagingTest, AnAgentThatServesAnotherGetsTheAddressesThatTheyShare) {
  order(wire::StageServe{1, 2, {}, {"203.0.113.1"}, 5000, kOther}, kSource);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(std::get<wire::StageServe>(sent[0].second).addresses,
            std::vector<std::string>{"10.0.0.1"});
}

TEST_F(JobStagingTest, AFolderThatIsNoTargetEndsIt) {
  begin({"/local/corpus", "/home/me/.ssh"});
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].error().message,
            "stage: the agent of gpu1 gave an order that this job does not need");
  ASSERT_EQ(sent.size(), 2U) << "only that it is over";
  EXPECT_EQ(std::get<wire::StageOver>(sent[0].second).id, 1U);
  EXPECT_TRUE(std::get<wire::StageFrom>(sent[1].second).peers.empty());
}

TEST_F(JobStagingTest, AFileBesideATargetEndsIt) {
  begin({"/local/corpus", "/local"});
  announce(1, "other.bin");
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(JobStagingTest, ANodeNeedNotShowWhatItHas) {
  wire::StageBegin message;
  message.id = 1;
  message.roots = {"/local/corpus", "/local"};
  message.origins = {{"", "/local/corpus/.dlaunch-sync-1", "/local/corpus", false},
                     {"", "/local/other", "/local/w.bin", false}};
  order(message);
  const auto& begun = std::get<wire::StageBegin>(sent.at(0).second);
  EXPECT_EQ(begun.origins[0].marker, "/local/corpus/.dlaunch-sync-1");
  EXPECT_EQ(begun.origins[1].marker, "") << "no file of the user's marks its folder";
  wire::StageStream stream;
  stream.id = 1;
  order(stream);
  EXPECT_TRUE(ends.empty());
  stream.holds = true;
  order(stream);
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(JobStagingTest, AMarkerIsNotStaged) {
  begin({"/local/corpus", "/local"});
  announce(0, ".dlaunch-sync-1");
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(JobStagingTest, WhatAnotherNodeWasToldDoesNotCount) {
  begin({"/local/corpus", "/local"});
  wire::StageBegin message;
  message.id = 1;
  message.roots = {"/local/corpus", "/local/w.bin"};
  message.origins = {{"", "", "/local/corpus", true}, {"", "", "/local/w.bin", true}};
  order(message, kSource);
  announce(1, "other.bin");
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(JobStagingTest, ANodeConnectsOnlyToWhatListensForIt) {
  begin({"/local/corpus", "/local"});
  staging.on(kOther, wire::StageListening{1, 3, {{"10.0.0.1", 7}}});
  order(wire::StageFeed{1, 3, {}, {{"10.0.0.1", 7}}, 5000});
  EXPECT_TRUE(ends.empty());
  order(wire::StageFeed{1, 4, {}, {{"203.0.113.1", 22}}, 5000});
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(JobStagingTest, OtherMessagesOtherNodesAndOtherSendersAreIgnored) {
  order(wire::Bye{});
  order(wire::StageOver{1}, NodeId(7));
  order(wire::StageOver{1}, kOther, kOther);
  staging.on(kSource, wire::StageLetter{id, kOther, 9999, "?"});
  staging.on(kSource, wire::StageLetter{id + 1, kOther, wire::encode(wire::StageOver{1}).type, ""});
  EXPECT_TRUE(sent.empty());
  EXPECT_TRUE(ends.empty());
}

TEST_F(JobStagingTest, ThatNoNodeIsLeftIsSaidAsTheSourceSaysIt) {
  staging.on(kSource, wire::StageReported{id, exit_code::kNodeLost, "none", {}, 0, 0, {}, {}});
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].error().exit_code, exit_code::kNodeLost);
}

TEST_F(JobStagingTest, ItsEndMayBeginAnother) {
  StageRunSettings here;
  here.items = {{"/data/more", "/local/more"}};
  here.nodes = {{kSource, "gpu1"}};
  staging.begin({{kSource, from_node()}, {std::nullopt, here}});
  then = [&] { staging.begin({{kSource, from_node()}}); };
  sent.clear();
  staging.node_lost(kOther);
  staging.node_lost(kSource);  // the second part begins without a node
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].error().exit_code, exit_code::kNodeLost);
  std::size_t orders = 0;
  for (const auto& [node, message] : sent) {
    const auto* const lost = std::get_if<wire::StageLost>(&message);
    EXPECT_TRUE(lost == nullptr || lost->id != id + 2) << "the new one has lost no node";
    if (std::holds_alternative<wire::StageFrom>(message)) ++orders;
  }
  EXPECT_EQ(orders, 1U);
}

TEST_F(JobStagingTest, AfterItsEndOnlyTheEndIsPassedOn) {
  staging.on(kSource, wire::StageReported{id, 75, "stage: from gpu1: full", {}, 0, 0, {}, {}});
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].error().exit_code, 75);
  begin({"/local/corpus"});
  EXPECT_TRUE(sent.empty());
  order(wire::StageOver{1});
  EXPECT_EQ(sent.size(), 1U);
}

}  // namespace
}  // namespace dlaunch
