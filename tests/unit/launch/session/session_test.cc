// A session whose agent is scripted: the other end of a socket pair.
#include "launch/session/session.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/build_id.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    block_signals({SIGPIPE});
    agent_.start({[this](wire::ToAgent message) { heard_.push_back(std::move(message)); },
                  [](const std::string&) {}});
    session_.start(wire::FactsRequest{});
  }

  template <class Condition>
  bool wait_for(Condition condition) {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (!condition() && loop_.run_one(limit)) {
    }
    return condition();
  }
  Session::Listener listener() {
    return {[this](wire::FromAgent message) { messages_.push_back(std::move(message)); },
            [this](NodeNews news) { news_.push_back(std::move(news)); }};
  }
  [[nodiscard]] const event::NodeLost* lost() const {
    return news_.empty() ? nullptr : std::get_if<event::NodeLost>(&news_.back());
  }

  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  AgentChannel agent_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 3, 1};
  std::vector<wire::ToAgent> heard_;  // by the agent
  std::vector<wire::FromAgent> messages_;
  std::vector<NodeNews> news_;
  Session session_{loop_,
                   NodeId(3),
                   {duplicate(ends_.first.get()), std::move(ends_.first)},
                   {"node3", 1, std::chrono::seconds(10), std::chrono::seconds(15)},
                   listener()};
};

TEST_F(SessionTest, GreetsTheAgentBeforeItAsksForFacts) {
  ASSERT_TRUE(wait_for([this] { return heard_.size() >= 3; }));
  EXPECT_EQ(std::get<wire::Hello>(heard_[0]).node_name, "node3");
  EXPECT_FALSE(std::get<wire::Hello>(heard_[0]).keep_on_channel_loss);  // there is no way back
  EXPECT_TRUE(std::holds_alternative<wire::Heartbeat>(heard_[1]));
  EXPECT_TRUE(std::holds_alternative<wire::FactsRequest>(heard_[2]));
}

TEST_F(SessionTest, PassesOnWhatIsNotItsOwnInOrder) {
  wire::Hello hello;
  hello.build_id = own_build_id();
  agent_.send(hello);
  agent_.send(wire::Heartbeat{});
  agent_.send(wire::Facts{{}, Attempt(2)});
  agent_.send(wire::AttemptEnded{Attempt(2), 0});
  ASSERT_TRUE(wait_for([this] { return messages_.size() == 2; }));
  EXPECT_EQ(std::get<wire::Facts>(messages_[0]).attempt, Attempt(2));
  EXPECT_TRUE(std::holds_alternative<wire::AttemptEnded>(messages_[1]));
  EXPECT_TRUE(news_.empty());
}

TEST_F(SessionTest, ShowsOnlySoManyNoticesOfAnAgentAndAsPlainLines) {
  for (std::size_t i = 0; i < NodeNotices::kMost + 5; ++i)
    agent_.send(wire::Notice{"a\033[1mb\nc"});
  agent_.send(wire::AttemptEnded{});
  ASSERT_TRUE(wait_for([this] {
    return !messages_.empty() && std::holds_alternative<wire::AttemptEnded>(messages_.back());
  }));
  ASSERT_EQ(messages_.size(), NodeNotices::kMost + 1);
  EXPECT_EQ(std::get<wire::Notice>(messages_[0]).text.find('\033'), std::string::npos);
  EXPECT_EQ(std::get<wire::Notice>(messages_[0]).text.find('\n'), std::string::npos);
}

TEST_F(SessionTest, AnAgentOfAnotherBuildIsLost) {
  wire::Hello hello;
  hello.build_id = "other";
  agent_.send(hello);
  agent_.send(wire::Facts{});
  ASSERT_TRUE(wait_for([this] { return session_.ended(); }));
  ASSERT_NE(lost(), nullptr);
  EXPECT_NE(lost()->what.find("its agent is build other"), std::string::npos);
  EXPECT_TRUE(messages_.empty());
}

TEST_F(SessionTest, AMessageOfTheWrongDirectionLosesTheNode) {
  // Only a program that is not our agent sends one, so it is written by hand.
  wire::Frame frame = wire::encode(wire::KillRanks{});
  frame.node = 3;
  frame.session = 1;
  frame.sequence = 1;
  std::string bytes;
  wire::append_frame(frame, bytes);
  auto ends = *make_socket_pair(SOCK_STREAM);
  Session other(loop_, NodeId(3), {duplicate(ends.first.get()), std::move(ends.first)},
                {"node3", 1, std::chrono::seconds(10), std::chrono::seconds(15)}, listener());
  other.start({});
  ASSERT_EQ(::write(ends.second.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  ASSERT_TRUE(wait_for([&] { return other.ended(); }));
  ASSERT_NE(lost(), nullptr);
  EXPECT_EQ(lost()->what, "malformed KillRanks message: it is for the other direction");
}

TEST_F(SessionTest, AnAgentThatLeavesWithoutBeingToldToIsLost) {
  agent_.send(wire::Bye{});
  ASSERT_TRUE(wait_for([this] { return session_.ended(); }));
  ASSERT_EQ(news_.size(), 1U);
  ASSERT_NE(lost(), nullptr);
  EXPECT_EQ(lost()->node, NodeId(3));
  EXPECT_EQ(lost()->what, "its agent exited without being told to");
  EXPECT_FALSE(lost()->end_was_heard);
}

TEST_F(SessionTest, AnAgentThatLeavesWhenItIsToldToIsNot) {
  session_.release();
  agent_.send(wire::Bye{});
  ASSERT_TRUE(wait_for([this] { return session_.ended(); }));
  EXPECT_TRUE(news_.empty());
}

}  // namespace
}  // namespace dlaunch
