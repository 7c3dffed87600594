// The check from the launcher's side, with scripted nodes.
#include "launch/session/reach_check.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "os/clock.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

class ReachCheckTest : public testing::Test {
 protected:
  ReachCheckTest()
      : check_(loop_, {[this](NodeId node, const wire::ToAgent& message) {
                         sent_.emplace_back(node.value, message);
                       },
                       [this](Result<Meeting> meeting) { met_ = std::move(meeting); }}) {
    for (int i = 0; i < 3; ++i) {
      Node node;
      node.id = NodeId(static_cast<std::uint32_t>(i));
      node.name = node.address = "gpu" + std::to_string(i);
      for (const int net : {0, 1}) {
        NetworkInterface interface;
        interface.name = "eth" + std::to_string(net);
        interface.is_up = true;
        interface.addresses = {{"10." + std::to_string(net) + ".0." + std::to_string(i + 4), 24}};
        node.facts.interfaces.push_back(interface);
      }
      node.facts.reserved_ports = {21000};
      cluster_.nodes.push_back(node);
    }
  }

  template <class Message>
  std::vector<std::pair<std::uint32_t, Message>> sent() const {
    std::vector<std::pair<std::uint32_t, Message>> found;
    for (const auto& [node, message] : sent_) {
      if (const auto* one = std::get_if<Message>(&message)) found.emplace_back(node, *one);
    }
    return found;
  }
  void begin() { check_.begin(spec_, cluster_); }
  void open(std::vector<std::int32_t> errors = {0, 0}) {
    check_.on(NodeId(0), wire::DoorOpen{sent<wire::OpenDoor>().back().second.id, errors});
  }
  void knocked(std::uint32_t node, std::uint32_t address, int error = 0) {
    check_.on(NodeId(node), wire::Knocked{sent<wire::OpenDoor>().back().second.id,
                                          {{address, error, 100, "", ""}}});
  }
  void wait() {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!met_ && monotonic_now() < end) loop_.run_one(end);
  }

  EventLoop loop_;
  JobSpec spec_;
  Cluster cluster_;
  std::vector<std::pair<std::uint32_t, wire::ToAgent>> sent_;
  std::optional<Result<Meeting>> met_;
  ReachCheck check_;
};

TEST_F(ReachCheckTest, DoorThenKnocksThenTheDoorIsClosed) {
  begin();
  const auto doors = sent<wire::OpenDoor>();
  ASSERT_EQ(doors.size(), 1U);
  EXPECT_EQ(doors[0].first, 0U);
  EXPECT_THAT(doors[0].second.addresses, testing::ElementsAre("10.0.0.4", "10.1.0.4"));
  EXPECT_EQ(doors[0].second.port, 21000);
  EXPECT_FALSE(doors[0].second.any_address);
  EXPECT_EQ(doors[0].second.nonce.size(), 32U);
  EXPECT_NE(doors[0].second.nonce, doors[0].second.answer);
  EXPECT_TRUE(sent<wire::Knock>().empty());  // not before it is open
  open();
  const auto knocks = sent<wire::Knock>();
  ASSERT_EQ(knocks.size(), 2U);
  EXPECT_EQ(knocks[1].first, 2U);
  EXPECT_EQ(knocks[1].second.nonce, doors[0].second.nonce);
  for (const std::uint32_t node : {1U, 2U}) knocked(node, 0);
  ASSERT_TRUE(met_ && met_->has_value());
  EXPECT_EQ((*met_)->address, "10.0.0.4");
  EXPECT_EQ(sent<wire::CloseDoor>().size(), 3U);
}

TEST_F(ReachCheckTest, AnotherOneWhereTheBestFails) {
  begin();
  open();
  knocked(1, 0, ECONNREFUSED);
  for (const std::uint32_t node : {1U, 2U}) knocked(node, 1);
  ASSERT_TRUE(met_ && met_->has_value());
  EXPECT_EQ((*met_)->address, "10.1.0.4");
  EXPECT_THAT((*met_)->reason, HasSubstr("10.0.0.4: not reached by gpu1 (Connection refused)"));
}

TEST_F(ReachCheckTest, ABetterOneThatIsSilentIsWaitedForAMoment) {
  begin();
  open();
  knocked(1, 0);
  for (const std::uint32_t node : {1U, 2U}) knocked(node, 1);
  EXPECT_FALSE(met_);
  wait();
  ASSERT_TRUE(met_ && met_->has_value());
  EXPECT_EQ((*met_)->address, "10.1.0.4");
}

TEST_F(ReachCheckTest, SilenceEndsWithTheLimit) {
  spec_.timeouts.connect = std::chrono::milliseconds(100);
  begin();
  EXPECT_EQ(sent<wire::OpenDoor>()[0].second.limit_ms, 1075U);  // three quarters and a second
  wait();
  ASSERT_TRUE(met_);
  ASSERT_FALSE(met_->has_value());
  EXPECT_EQ(met_->error().exit_code, exit_code::kPreflight);
  EXPECT_THAT(met_->error().message,
              HasSubstr("10.1.0.4 (eth1): not reached by gpu1, gpu2 (timed out)"));
  EXPECT_EQ(sent<wire::CloseDoor>().size(), 3U);
}

TEST_F(ReachCheckTest, AnswersOfAnEarlierOneMeanNothing) {
  begin();
  const std::uint32_t earlier = sent<wire::OpenDoor>()[0].second.id;
  begin();
  check_.on(NodeId(0), wire::DoorOpen{earlier, {EACCES, EACCES}});
  EXPECT_TRUE(sent<wire::Knock>().empty());
  check_.on(NodeId(1), wire::DoorOpen{earlier + 1, {}});  // not node 0
  EXPECT_TRUE(sent<wire::Knock>().empty());
  check_.cancel();
  open();
  EXPECT_TRUE(sent<wire::Knock>().empty());
  EXPECT_FALSE(met_);
}

TEST_F(ReachCheckTest, WhatCannotBeTriedIsToldAtOnce) {
  spec_.rendezvous.address = "head.cluster";
  begin();
  ASSERT_TRUE(met_ && met_->has_value());
  EXPECT_EQ((*met_)->address, "head.cluster");
  EXPECT_THAT((*met_)->reason, HasSubstr("not tested"));
  EXPECT_TRUE(sent_.empty());
  met_.reset();
  spec_.rendezvous.address = "auto";
  spec_.rendezvous.interface = "ib0";
  begin();
  ASSERT_TRUE(met_);
  EXPECT_FALSE(met_->has_value());
}

TEST_F(ReachCheckTest, ATranslatedAddressNeedsADoorEverywhere) {
  spec_.rendezvous.address = "203.0.113.9";
  begin();
  EXPECT_TRUE(sent<wire::OpenDoor>()[0].second.any_address);
}

}  // namespace
}  // namespace dlaunch
