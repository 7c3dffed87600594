#include "os/channel.h"

#include <csignal>
#include <optional>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

/// The kind of message does not matter to a channel.
using Peer = Channel<wire::FromAgent, wire::FromAgent>;

/// Both ends of one channel in one loop.
class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    block_signals({SIGPIPE});
    near_.start({[this](wire::FromAgent message) { received_.push_back(std::move(message)); },
                 [this](std::string reason) { end_ = std::move(reason); }});
    far_.start({[this](wire::FromAgent message) { far_received_.push_back(std::move(message)); },
                [](const std::string&) {}});
  }

  bool wait_for_end() {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (!end_ && loop_.run_one(limit)) {
    }
    return end_.has_value();
  }

  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  Peer near_{loop_, duplicate(ends_.first.get()), std::move(ends_.first), 0, 1};
  Peer far_{loop_, std::move(ends_.second), {}, 0, 1};
  std::vector<wire::FromAgent> received_;
  std::vector<wire::FromAgent> far_received_;
  std::optional<std::string> end_;
};

TEST_F(ChannelTest, WhatAPeerSaidBeforeItsEndIsReadEvenIfWeWriteFirst) {
  far_.send(wire::Notice{"last words"});
  far_.close();
  near_.send(wire::Heartbeat{});  // fails with EPIPE before anything is read
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(*end_, "");
  ASSERT_EQ(received_.size(), 1U);
  EXPECT_EQ(received_.front(), wire::FromAgent(wire::Notice{"last words"}));
}

TEST_F(ChannelTest, OneSocketServesForBothDirections) {
  const std::string text(1 << 20, 'x');  // more than a socket takes at once
  near_.send(wire::Notice{text});
  far_.send(wire::Notice{text});
  const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
  while ((received_.empty() || far_received_.empty()) && loop_.run_one(limit)) {
  }
  EXPECT_EQ(received_, std::vector{wire::FromAgent(wire::Notice{text})});
  EXPECT_EQ(far_received_, received_);
  const auto left = far_.leave();
  ASSERT_TRUE(left);
  EXPECT_FALSE(left->write);
}

TEST_F(ChannelTest, UnreadBytesOfOursAreAnOrderlyEndToo) {
  near_.send(wire::Heartbeat{});
  loop_.poll();
  near_.send(wire::Notice{"never read"});  // ECONNRESET, unix(7)
  far_.close();
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(*end_, "");
}

}  // namespace
}  // namespace dlaunch
