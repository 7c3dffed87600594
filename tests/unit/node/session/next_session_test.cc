// What an agent that stays does with the bytes behind the end of a session.
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "node/session/next_session.h"
#include "os/containment.h"
#include "wire/codec.h"
#include "wire/framer.h"

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SessionId kLast{7, 3};
constexpr SessionId kNext{8, 1};

std::string frame_of(const auto& message, SessionId id) {
  wire::Frame frame = wire::encode(message);
  frame.session = id.session;
  frame.node = id.node;
  std::string bytes;
  wire::append_frame(frame, bytes);
  return bytes;
}

TEST(NextSession, SkipsWhatTheLastLauncherStillSent) {
  const std::string late = frame_of(wire::Heartbeat{}, kLast) + frame_of(wire::Ack{4}, kLast);
  const std::string hello = frame_of(wire::Hello{}, kNext);
  SessionId next;
  for (std::size_t cut = 0; cut < late.size(); ++cut) {
    std::string bytes = late.substr(0, cut);
    EXPECT_EQ(look_for_hello(bytes, kLast, next), NextFrame::incomplete);
    bytes += late.substr(cut) + hello;
    EXPECT_EQ(look_for_hello(bytes, kLast, next), NextFrame::hello) << cut;
    EXPECT_EQ(bytes, hello) << "its first bytes are left for the next channel";
    EXPECT_EQ(next.session, kNext.session);
    EXPECT_EQ(next.node, kNext.node);
  }
}

TEST(NextSession, OnlyAHelloBeginsOne) {
  SessionId next;
  std::string other = frame_of(wire::KillRanks{}, kNext);
  EXPECT_EQ(look_for_hello(other, kLast, next), NextFrame::other);
  std::string same_session_other_node = frame_of(wire::Heartbeat{}, {7, 4});
  EXPECT_EQ(look_for_hello(same_session_other_node, kLast, next), NextFrame::other);
  std::string endless = frame_of(wire::Heartbeat{}, kLast);
  endless[3] = '\x7f';  // its length
  EXPECT_EQ(look_for_hello(endless, kLast, next), NextFrame::other);
}

struct Waiting {
  Waiting() {
    auto pipe = make_pipe();
    connection.read = std::move(pipe->read);
    launcher = std::move(pipe->write);
  }
  std::optional<SessionId> wait(milliseconds limit) {
    return wait_for_session(connection, kLast, guardian, limit, milliseconds(5),
                            [this] { ++beats; });
  }
  LeftConnection connection;
  UniqueFd launcher;
  UniqueFd guardian{open_pidfd(::getpid())};
  int beats = 0;
};

TEST(NextSession, WaitsForItsBytesAndShowsThatItLives) {
  Waiting agent;
  std::thread other([&] {
    for (const char byte : frame_of(wire::Hello{}, kNext))
      (void)!::write(agent.launcher.get(), &byte, 1);
  });
  const auto next = agent.wait(seconds(30));
  other.join();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->session, kNext.session);
  EXPECT_GT(agent.beats, 0);
}

TEST(NextSession, EndsWithTheConnectionOrTheLimit) {
  Waiting left;
  left.launcher.reset();
  EXPECT_FALSE(left.wait(seconds(30)));
  Waiting silent;
  EXPECT_FALSE(silent.wait(milliseconds(20)));
  EXPECT_GT(silent.beats, 1);
}

}  // namespace
}  // namespace dlaunch
