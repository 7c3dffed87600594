#include "launch/connect/prompt_socket.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace dlaunch {
namespace {

class PromptSocketTest : public testing::Test {
 protected:
  PromptSocketTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    users_ = std::string(base_) + "/dlaunch-" + std::to_string(::geteuid());
  }
  ~PromptSocketTest() override { std::filesystem::remove_all(base_); }

  /// Like one left by a killed launcher; this many seconds old.
  std::string leave_socket(const std::string& name, long age) const {
    const std::string path = users_ + '/' + name;
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    grow_old(path, age);
    return path;
  }
  static void grow_old(const std::string& path, long age) {
    const timeval then{::time(nullptr) - age, 0};
    const timeval times[] = {then, then};
    EXPECT_EQ(::utimes(path.c_str(), times), 0);
  }

  char base_[32] = "/tmp/prompt-socket-XXXXXX";
  std::string users_;
};

TEST_F(PromptSocketTest, IsOursAloneAndGoesAway) {
  std::string path;
  {
    PromptSocket socket = PromptSocket::open(base_);
    EXPECT_TRUE(socket.take_listener().valid());
    path = socket.path();
    EXPECT_THAT(path, testing::StartsWith(users_ + "/ask-"));
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0600U);
    ASSERT_EQ(::stat(users_.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0700U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PromptSocketTest, WhatKilledLaunchersLeftIsRemovedByTheNext) {
  PromptSocket living = PromptSocket::open(base_);
  const UniqueFd listener = living.take_listener();
  grow_old(living.path(), 3600);
  const std::string dead = leave_socket("ask-0123456789abcdef", 61);
  const std::string young = leave_socket("ask-0123456789abcde0", 0);
  const std::string other = leave_socket("agent-0123456789abcdef-1", 3600);
  const PromptSocket next = PromptSocket::open(base_);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(young));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(living.path()));
}

TEST_F(PromptSocketTest, AFolderThatOthersMayEnterIsNotUsed) {
  ASSERT_EQ(::mkdir(users_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(users_.c_str(), 0755), 0);
  std::optional<PromptSocket> last = PromptSocket::open(base_);
  EXPECT_TRUE(last->take_listener().valid());
  EXPECT_THAT(last->path(), testing::StartsWith(std::string(base_) + "/dlaunch-ask-"));
  last.reset();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(base_), {}), 1);
}

}  // namespace
}  // namespace dlaunch
