// A session whose agent is scripted: the other end of a socket pair.
#include "launch/session/session.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    block_signals({SIGPIPE});
    agent_.start({[](const wire::Message&) {}, [](const std::string&) {}, {}});
    session_.start(wire::FactsRequest{});
  }

  template <class Condition>
  bool wait_for(Condition condition) {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (!condition() && loop_.run_one(limit)) {
    }
    return condition();
  }
  Session::Callbacks callbacks() {
    Session::Callbacks callbacks;
    callbacks.on_event = [this](Event event) { events_.push_back(std::move(event)); };
    callbacks.on_facts = [](const NodeFacts&) {};
    callbacks.on_notice = [](const std::string&) {};
    return callbacks;
  }

  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  Channel agent_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 3, 1};
  std::vector<Event> events_;
  Session session_{loop_,
                   NodeIndex(3),
                   {duplicate(ends_.first.get()), std::move(ends_.first)},
                   {"node3", 1, std::chrono::seconds(10), std::chrono::seconds(15)},
                   callbacks()};
};

TEST_F(SessionTest, AnAgentThatLeavesWithoutBeingToldToIsLost) {
  agent_.send(wire::Bye{});
  ASSERT_TRUE(wait_for([this] { return session_.ended(); }));
  ASSERT_EQ(events_.size(), 1U);
  const auto* lost = std::get_if<event::NodeLost>(&events_.front());
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->node, NodeIndex(3));
  EXPECT_EQ(lost->what, "its agent left without being told to");
  EXPECT_FALSE(lost->end_was_heard);
}

TEST_F(SessionTest, AnAgentThatLeavesWhenItIsToldToIsNot) {
  session_.release();
  agent_.send(wire::Bye{});
  ASSERT_TRUE(wait_for([this] { return session_.ended(); }));
  EXPECT_TRUE(events_.empty());
}

}  // namespace
}  // namespace dlaunch
