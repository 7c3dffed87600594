#include "launch/connect/reconnection.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "node/session/attach.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

class ReconnectionTest : public testing::Test {
 protected:
  void turn_until_tries(std::size_t count) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (limits_.size() < count && loop_.run_one(end)) {
    }
    ASSERT_EQ(limits_.size(), count);
  }

  EventLoop loop_;
  Reconnection::Opened answer_;
  std::vector<Duration> limits_;
  int cancelled_ = 0;
  int made_ = 0;
  std::optional<std::string> gone_;
  bool stops_when_hidden_ = false;
  Reconnection again_{
      loop_,
      {[this](Reconnection::Opened done, Duration limit) {
         answer_ = std::move(done);
         limits_.push_back(limit);
       },
       [this] { ++cancelled_; }},
      {[this](Connection) { ++made_; }, [this](std::string how) { gone_ = std::move(how); },
       [this] {
         if (stops_when_hidden_) again_.stop();
       }}};
};

TEST_F(ReconnectionTest, TriesUntilAConnectionIsMade) {
  again_.begin();
  again_.begin();  // it tries already
  ASSERT_EQ(limits_.size(), 1U);
  answer_(fail(exit_code::kNodeLost, "Connection refused"));
  EXPECT_EQ(again_.trouble(), "Connection refused");
  turn_until_tries(2);
  answer_(Connection());
  EXPECT_EQ(made_, 1);
  EXPECT_FALSE(again_.trying());
}

TEST_F(ReconnectionTest, AConnectionThatBreaksAtOnceIsFollowedByAPause) {
  again_.begin();
  answer_(Connection());
  again_.begin();
  EXPECT_EQ(limits_.size(), 1U);
  turn_until_tries(2);
  answer_(Connection());
  again_.succeeded();
  again_.begin();
  EXPECT_EQ(limits_.size(), 3U);
}

TEST_F(ReconnectionTest, AnAgentThatIsGoneEndsIt) {
  again_.begin();
  answer_(fail(kSessionGone, "its agent was killed by SIGKILL"));
  EXPECT_EQ(gone_, "its agent was killed by SIGKILL");
  EXPECT_FALSE(again_.trying());
  EXPECT_EQ(limits_.size(), 1U);
}

TEST_F(ReconnectionTest, OneWithoutATraceIsTriedAgain) {
  again_.begin();
  answer_(fail(kSessionHidden, "no trace of its agent"));
  EXPECT_FALSE(gone_);
  EXPECT_EQ(again_.trouble(), "no trace of its agent");
  turn_until_tries(2);
  answer_(Connection());
  EXPECT_EQ(made_, 1);
}

TEST_F(ReconnectionTest, OneWithoutATraceMayBeReasonToStop) {
  stops_when_hidden_ = true;
  again_.begin();
  answer_(fail(kSessionHidden, "no trace of its agent"));
  EXPECT_FALSE(again_.trying());
  loop_.poll();
  EXPECT_EQ(limits_.size(), 1U);
}

TEST_F(ReconnectionTest, StoppedItHearsNoAnswer) {
  again_.begin();
  again_.stop();
  EXPECT_EQ(cancelled_, 1);
  answer_(Connection());
  EXPECT_EQ(made_, 0);
  again_.stop();
  EXPECT_EQ(cancelled_, 1);
}

}  // namespace
}  // namespace dlaunch
