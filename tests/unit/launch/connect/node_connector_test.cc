// What the connector answers, and to whom it does not. Connections are real, over a command that is
// no ssh.
#include "launch/connect/node_connector.h"

#include <optional>

#include <gtest/gtest.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

class NodeConnectorTest : public testing::Test {
 protected:
  NodeConnectorTest() : connector_(loop_, targets_, settings()) {}

  NodeConnector::Settings settings() {
    targets_.resize(1);
    targets_[0].host.name = "node1";
    targets_[0].way = NodeTarget::Way::command;
    NodeConnector::Settings its;
    its.connect.via = Connect::Via::command;
    its.connect.command = {"/nonexistent/ssh", "{host}"};
    its.timeout = std::chrono::seconds(20);
    its.build_id = "abc";
    return its;
  }
  NodeConnector::Opened note() {
    return [this](Result<Connection> result) {
      ++answers_;
      if (!result) said_ = result.error().message;
    };
  }
  void turn_until_answered() {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (answers_ == 0 && loop_.run_one(end)) {
    }
  }

  EventLoop loop_;
  std::vector<NodeTarget> targets_;
  int answers_ = 0;
  std::string said_;
  NodeConnector connector_;
};

TEST_F(NodeConnectorTest, AProgramThatIsNotThereIsAnAnswer) {
  connector_.open(NodeIndex(0), Purpose::fresh, note());
  turn_until_answered();
  EXPECT_EQ(answers_, 1);
  EXPECT_NE(said_.find("/nonexistent/ssh"), std::string::npos) << said_;
}

TEST_F(NodeConnectorTest, WhoCancelsInTheTurnOfTheAnswerGetsNone) {
  connector_.open(NodeIndex(0), Purpose::fresh, note());
  // The turn in which it fails; the answer waits for the next one.
  ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
  ASSERT_EQ(answers_, 0);
  connector_.cancel(NodeIndex(0));
  loop_.poll();
  EXPECT_EQ(answers_, 0);
}

TEST_F(NodeConnectorTest, WhoAsksAgainInThatTurnGetsOneAnswer) {
  connector_.open(NodeIndex(0), Purpose::fresh, note());
  ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
  connector_.open(NodeIndex(0), Purpose::fresh, note());
  turn_until_answered();
  loop_.poll();
  EXPECT_EQ(answers_, 1);
}

}  // namespace
}  // namespace dlaunch
