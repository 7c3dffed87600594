#include "launch/keep/keeper_socket.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

// A keeper that still connects its nodes would leave every run, list and `down` without an answer.
TEST(KeeperSocket, IsFoundOnlyAfterItAppears) {
  const std::size_t before = connect_to_keepers().size();
  auto socket = KeeperSocket::open();
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(connect_to_keepers().size(), before);
  ASSERT_TRUE(socket->appear());
  EXPECT_EQ(connect_to_keepers().size(), before + 1);
}

}  // namespace
}  // namespace dlaunch
