#include "os/cgroup.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clone_child.h"
#include "os/containment.h"
#include "os/enclosure.h"

namespace dlaunch {
namespace {

TEST(CgroupPath, FindsTheV2AndTheV1Hierarchies) {
  // cgroups(7), /proc/[pid]/cgroup; a hybrid machine.
  constexpr std::string_view kText =
      "12:cpu,cpuacct:/a:b\n"
      "4:memory:/user.slice/session-1.scope\n"
      "1:name=systemd:/user.slice\n"
      "0::/user.slice/user-1000.slice\n";
  EXPECT_EQ(cgroup_path(kText), "/user.slice/user-1000.slice");
  EXPECT_EQ(cgroup_path(kText, "memory"), "/user.slice/session-1.scope");
  EXPECT_EQ(cgroup_path(kText, "cpuacct"), "/a:b");
  EXPECT_EQ(cgroup_path(kText, "cpuset"), std::nullopt);
  EXPECT_EQ(cgroup_path("0::/\n"), "");
}

TEST(CgroupPath, WhatIsOutsideOfTheNamespaceIsNotOurs) {
  // cgroup_namespaces(7): "/.." where the process is above the root that it sees.
  EXPECT_EQ(cgroup_path("0::/../sibling\n"), std::nullopt);
  EXPECT_EQ(cgroup_path("0::/..\n"), std::nullopt);
  EXPECT_EQ(cgroup_path(""), std::nullopt);
  EXPECT_EQ(cgroup_path("0:\n0\n"), std::nullopt);
}

DLAUNCH_ON_OWN_STACK int exit_with_7(void*) {
  ::_exit(7);
}

class RankCgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto own = own_cgroup_folder();
    if (!own) GTEST_SKIP() << "no cgroup v2 is mounted";
    parent_ = *own + "/test-of-dlaunch-" + std::to_string(::getpid());
    if (::mkdir(parent_.c_str(), 0700) != 0) GTEST_SKIP() << "no cgroup is delegated to us";
  }
  void TearDown() override {
    if (!parent_.empty()) ::rmdir(parent_.c_str());
  }

  static int pause_for_ever(void*) {
    ::execl("/bin/sleep", "sleep", "600", nullptr);
    ::_exit(1);
  }

  std::string parent_;
};

TEST_F(RankCgroupTest, AChildBeginsThereAndIsKilledThere) {
  auto cgroup = RankCgroup::make(parent_);
  ASSERT_TRUE(cgroup);
  alignas(16) static char stack[64 * 1024];
  const pid_t inside = clone_child(pause_for_ever, nullptr, stack, sizeof stack, cgroup->fd());
  ASSERT_GT(inside, 0);
  const pid_t outside = clone_child(pause_for_ever, nullptr, stack, sizeof stack, -1);
  ASSERT_GT(outside, 0);
  EXPECT_FALSE(cgroup->remove());
  cgroup->kill();
  int status = 0;
  EXPECT_EQ(::waitpid(inside, &status, 0), inside);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(::kill(outside, 0), 0);
  ::kill(outside, SIGKILL);
  ::waitpid(outside, &status, 0);
  EXPECT_TRUE(cgroup->remove());
  EXPECT_FALSE(std::filesystem::exists(cgroup->path()));
}

TEST_F(RankCgroupTest, AnEnclosureIsOfUseAgainAfterAKill) {
  // As for a second attempt, see Enclosure::prepare().
  alignas(16) static char stack[64 * 1024];
  Enclosure enclosure;
  for (int attempt = 0; attempt < 3; ++attempt) {
    enclosure.prepare();
    if (enclosure.cgroup_fd() < 0) GTEST_SKIP() << "no cgroup can be used here";
    const pid_t good = clone_child(exit_with_7, nullptr, stack, sizeof stack, enclosure.cgroup_fd());
    const pid_t bad =
        clone_child(pause_for_ever, nullptr, stack, sizeof stack, enclosure.cgroup_fd());
    int status = 0;
    ASSERT_EQ(::waitpid(good, &status, 0), good);
    if (attempt == 0 && WIFSIGNALED(status)) GTEST_SKIP() << "nothing can live in a cgroup here";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << attempt;
    enclosure.kill_once();
    ASSERT_EQ(::waitpid(bad, &status, 0), bad);
    EXPECT_TRUE(WIFSIGNALED(status)) << attempt;
  }
}

TEST_F(RankCgroupTest, WhatRanksMadeBelowGoesWithIt) {
  auto cgroup = RankCgroup::make(parent_);
  ASSERT_TRUE(cgroup);
  ASSERT_TRUE(std::filesystem::create_directories(cgroup->path() + "/a/b"));
  EXPECT_TRUE(cgroup->remove());
}

TEST_F(RankCgroupTest, ASweepTakesWhatHasNoOwnerAndNothingElse) {
  auto owned = RankCgroup::make(parent_);
  ASSERT_TRUE(owned);
  const std::string abandoned = parent_ + "/dlaunch-1-0123456789abcdef";
  const std::string foreign = parent_ + "/dlaunch-batch";
  ASSERT_EQ(::mkdir(abandoned.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir(foreign.c_str(), 0700), 0);
  sweep_abandoned_cgroups(parent_, std::chrono::seconds(5));
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(foreign));
  EXPECT_TRUE(std::filesystem::exists(owned->path()));
  EXPECT_TRUE(owned->remove());
  ::rmdir(foreign.c_str());
}

}  // namespace
}  // namespace dlaunch
