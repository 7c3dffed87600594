// The reach check between real sockets: all of 127.0.0.0/8 is this machine.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <map>

#include "node/reach/reach_door.h"
#include "node/reach/reach_knock.h"
#include "os/clock.h"
#include "os/reach_socket.h"

namespace dlaunch {
namespace {

constexpr std::chrono::seconds kPatience{20};

class ReachTest : public testing::Test {
 protected:
  ReachTest() : port_(std::move(*reserve_free_port())) {}

  wire::OpenDoor door_at(std::vector<std::string> addresses) {
    return {1, std::move(addresses), false, port_.number(), "nonce-1", "answer-1", 10000};
  }
  wire::Knock knock_at(std::vector<std::string> addresses) {
    return {1, std::move(addresses), port_.number(), "nonce-1", "answer-1", 10000};
  }
  template <class Condition>
  bool wait_for(const Condition& condition) {
    const MonotonicTime end = monotonic_now() + kPatience;
    while (!condition() && monotonic_now() < end) loop_.run_one(end);
    return condition();
  }
  /// Errors by address index, once all have arrived.
  std::map<std::uint32_t, int> knock(wire::Knock message) {
    results_.clear();
    const std::size_t wanted = message.addresses.size();
    ReachKnock knock(loop_, [this](const wire::Knocked& knocked) {
      for (const auto& one : knocked.results) results_[one.address] = one;
    });
    knock.begin(std::move(message));
    EXPECT_TRUE(wait_for([&] { return results_.size() == wanted; }));
    std::map<std::uint32_t, int> errors;
    for (const auto& [address, one] : results_) errors[address] = one.error;
    return errors;
  }
  /// A socket of a stranger, connected to the door.
  UniqueFd stranger(const char* address = "127.0.0.2") {
    auto socket = begin_connect(address, port_.number());
    EXPECT_TRUE(socket);
    return socket ? std::move(*socket) : UniqueFd();
  }
  /// What a stranger reads until the door closes its end.
  std::string last_words(int socket) {
    std::string heard;
    bool ended = false;
    wait_for([&] {
      loop_.poll();
      std::array<char, 64> bytes;
      const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0) heard.append(bytes.data(), static_cast<std::size_t>(n));
      ended = n == 0 || (n < 0 && errno != EAGAIN);
      return ended;
    });
    EXPECT_TRUE(ended);
    return heard;
  }

  EventLoop loop_;
  ReservedPort port_;
  std::map<std::uint32_t, wire::Knocked::One> results_;
};

TEST_F(ReachTest, TheRightNonceAtEachAddress) {
  ReachDoor door(loop_);
  const auto opened =
      door.open(door_at({"127.0.0.2", "127.0.0.3", "203.0.113.1", "gpu01"}), &port_);
  EXPECT_THAT(opened.errors, testing::ElementsAre(0, 0, EADDRNOTAVAIL, EINVAL));
  EXPECT_THAT(knock(knock_at({"127.0.0.2", "127.0.0.3", "127.0.0.4"})),
              testing::ElementsAre(testing::Pair(0, 0), testing::Pair(1, 0),
                                   testing::Pair(2, ECONNREFUSED)));
  EXPECT_EQ(results_[0].interface, "lo");
  EXPECT_THAT(results_[0].local_address, testing::StartsWith("127."));
  EXPECT_GT(results_[0].round_trip_us, 0U);
}

TEST_F(ReachTest, ThePortIsHeldBeforeDuringAndAfter) {
  ReachDoor door(loop_);
  const auto is_free = [&] { return reserve_port(port_.number()).has_value(); };
  EXPECT_FALSE(is_free());
  (void)door.open(door_at({"127.0.0.2"}), &port_);
  EXPECT_FALSE(is_free());
  EXPECT_EQ(knock(knock_at({"127.0.0.2"}))[0], 0);
  door.close();
  EXPECT_FALSE(is_free());
  EXPECT_EQ(knock(knock_at({"127.0.0.2"}))[0], ECONNREFUSED);
}

/// Like a rank that does not set SO_REUSEADDR.
int bind_plainly(std::uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno;
  return ::listen(socket.get(), 1) == 0 ? 0 : errno;
}

TEST_F(ReachTest, RankZeroFindsNoTimeWaitOnThePort) {
  for (const bool everywhere : {false, true}) {
    ReservedPort port = std::move(*reserve_free_port());
    ReachDoor door(loop_);
    wire::OpenDoor message = door_at({"127.0.0.2"});
    message.any_address = everywhere;
    message.port = port.number();
    EXPECT_EQ(door.open(message, &port).errors[0], 0);
    wire::Knock knocks = knock_at({"127.0.0.2", "127.0.0.2", "127.0.0.2"});
    knocks.port = port.number();
    EXPECT_THAT(knock(knocks), testing::Each(testing::Pair(testing::_, 0)));
    auto stays = begin_connect("127.0.0.2", port.number());  // is open when the door closes
    loop_.poll();
    door.close();
    EXPECT_EQ(bind_plainly(port.number()), EADDRINUSE) << "it is held";
    port.release();
    EXPECT_EQ(bind_plainly(port.number()), 0) << (everywhere ? "everywhere" : "one address");
  }
}

TEST_F(ReachTest, EverywhereForAnAddressThatIsTranslatedOnTheWay) {
  ReachDoor door(loop_);
  wire::OpenDoor message = door_at({"203.0.113.1"});
  message.any_address = true;
  EXPECT_THAT(door.open(message, &port_).errors, testing::ElementsAre(0));
  EXPECT_EQ(knock(knock_at({"127.0.0.9"}))[0], 0);
  EXPECT_THAT(results_[0].local_address, testing::StartsWith("127."));
}

TEST_F(ReachTest, AWrongNonceGetsNoAnswer) {
  ReachDoor door(loop_);
  (void)door.open(door_at({"127.0.0.2"}), &port_);
  for (const char* said : {"nonce-2", "nonce-1 and more", "GET / HTTP/1.1\r\n\r\n"}) {
    const UniqueFd socket = stranger();
    EXPECT_EQ(::send(socket.get(), said, std::strlen(said), MSG_NOSIGNAL),
              static_cast<ssize_t>(std::strlen(said)));
    EXPECT_EQ(last_words(socket.get()), "") << said;
  }
  wire::Knock wrong = knock_at({"127.0.0.2"});
  wrong.nonce = "nonce-x";
  EXPECT_NE(knock(wrong)[0], 0);
}

TEST_F(ReachTest, SomethingElseThatAnswersIsNoNodeZero) {
  ReachDoor door(loop_);
  wire::OpenDoor other = door_at({"127.0.0.2"});
  other.answer = "welcome!";
  (void)door.open(other, &port_);
  EXPECT_EQ(knock(knock_at({"127.0.0.2"}))[0], EPROTO);
}

TEST_F(ReachTest, ASilentStrangerDelaysNoClient) {
  ReachDoor door(loop_);
  (void)door.open(door_at({"127.0.0.2"}), &port_);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(stranger());
  EXPECT_EQ(knock(knock_at({"127.0.0.2"}))[0], 0);
  door.close();
  for (const UniqueFd& socket : strangers) EXPECT_EQ(last_words(socket.get()), "");
}

TEST_F(ReachTest, ManyAtOnce) {
  ReachDoor door(loop_);
  (void)door.open(door_at({"127.0.0.2", "127.0.0.3"}), &port_);
  std::vector<std::unique_ptr<ReachKnock>> nodes;
  std::size_t reached = 0;
  std::size_t failed = 0;
  for (int i = 0; i < 150; ++i) {
    nodes.push_back(std::make_unique<ReachKnock>(loop_, [&](const wire::Knocked& knocked) {
      for (const auto& one : knocked.results) ++(one.error == 0 ? reached : failed);
    }));
    nodes.back()->begin(knock_at({"127.0.0.2", "127.0.0.3"}));
  }
  EXPECT_TRUE(wait_for([&] { return reached + failed == 300; }));
  EXPECT_EQ(failed, 0U);
}

TEST_F(ReachTest, TheDoorClosesByItself) {
  ReachDoor door(loop_);
  wire::OpenDoor soon = door_at({"127.0.0.2"});
  soon.limit_ms = 50;
  (void)door.open(soon, &port_);
  EXPECT_TRUE(door.is_open());
  EXPECT_TRUE(wait_for([&] { return !door.is_open(); }));
}

TEST_F(ReachTest, WhoGetsNoAnswerGivesUpInTime) {
  // The kernel accepts; the door itself never does, its loop does not run.
  EventLoop other;
  ReachDoor door(other);
  (void)door.open(door_at({"127.0.0.2"}), &port_);
  wire::Knock soon = knock_at({"127.0.0.2"});
  soon.limit_ms = 100;
  EXPECT_EQ(knock(soon)[0], ETIMEDOUT);
}

TEST_F(ReachTest, APortThatIsNotHeldIsNotOpened) {
  ReachDoor door(loop_);
  EXPECT_THAT(door.open(door_at({"127.0.0.2"}), nullptr).errors, testing::ElementsAre(EBADF));
  EXPECT_FALSE(door.is_open());
}

}  // namespace
}  // namespace dlaunch
