#include "os/acceptor.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

class AcceptorTest : public testing::Test {
 protected:
  AcceptorTest() {
    address_.sun_family = AF_UNIX;
    const std::string name = "dlaunch-acceptor-test-" + std::to_string(::getpid());
    name.copy(address_.sun_path + 1, sizeof address_.sun_path - 1);  // abstract, unix(7)
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(listener.get(), generic(), sizeof address_), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    acceptor_.emplace(loop_, std::move(listener),
                      [this](UniqueFd socket) { came_.push_back(std::move(socket)); });
  }
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address_); }
  UniqueFd knock() {
    UniqueFd guest(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(guest.get(), generic(), sizeof address_), 0);
    return guest;
  }
  void turn_until(std::size_t count) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (came_.size() < count && loop_.run_one(end)) {
    }
    ASSERT_EQ(came_.size(), count);
  }

  EventLoop loop_;
  sockaddr_un address_{};
  std::vector<UniqueFd> came_;
  std::optional<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, TakesOneAfterTheOther) {
  const UniqueFd first = knock();
  const UniqueFd second = knock();
  turn_until(2);
  EXPECT_TRUE(acceptor_->listens());
}

TEST_F(AcceptorTest, WithoutADescriptorItPausesAndTakesTheGuestLater) {
  const UniqueFd guest = knock();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  // A socket that polls again at once would keep this busy forever: it returns when nothing is
  // ready.
  loop_.poll();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(came_.empty());
  turn_until(1);
}

TEST_F(AcceptorTest, WhileHeldItAcceptsNothing) {
  acceptor_->hold();
  const UniqueFd guest = knock();
  loop_.poll();
  EXPECT_TRUE(came_.empty());
  acceptor_->go_on();
  acceptor_->go_on();
  turn_until(1);
}

}  // namespace
}  // namespace dlaunch
