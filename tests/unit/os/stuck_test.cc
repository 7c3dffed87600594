#include "os/stuck.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

constexpr const char* kMounts =
    "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "22 21 0:20 / /proc rw,nosuid - proc proc rw\n"
    "30 21 0:40 /export /data rw,relatime shared:5 - nfs4 nas:/export rw,hard\n"
    "31 30 7:0 / /data/with\\040space rw - xfs /dev/loop0 rw\n"
    "32 21 0:41 / /mnt rw - ext4 /dev/sdb1 rw\n"
    "33 32 0:42 / /mnt rw - tmpfs none rw\n";

TEST(FileSystemOf, IsThatOfTheLongestMountAbove) {
  EXPECT_EQ(file_system_of("/home/ann/runs", kMounts), "ext4 at / (/dev/vda)");
  EXPECT_EQ(file_system_of("/data/runs/1", kMounts), "nfs4 at /data (nas:/export)");
  EXPECT_EQ(file_system_of("/data", kMounts), "nfs4 at /data (nas:/export)");
  EXPECT_EQ(file_system_of("/database", kMounts), "ext4 at / (/dev/vda)");
}

TEST(HasMountBelow, FindsOnlyWhatIsInTheFolder) {
  EXPECT_TRUE(has_mount_below("/data", kMounts));
  EXPECT_FALSE(has_mount_below("/data/with space", kMounts));
  EXPECT_FALSE(has_mount_below("/dat", kMounts));
}

TEST(FileSystemOf, KnowsNamesWithSpacesAndMountsThatHideOthers) {
  EXPECT_EQ(file_system_of("/data/with space/x", kMounts), "xfs at /data/with space (/dev/loop0)");
  EXPECT_EQ(file_system_of("/mnt/x", kMounts), "tmpfs at /mnt");
}

TEST(FileSystemOf, IsEmptyForWhatIsNoPathOrNoTable) {
  EXPECT_EQ(file_system_of("pipe:[4711]", kMounts), "");
  EXPECT_EQ(file_system_of("/home", ""), "");
  EXPECT_EQ(file_system_of("/home", "21 1 254:0 /\n\n - \n"), "");
}

TEST(Stuck, IsDescribedWithAllThatIsKnown) {
  EXPECT_EQ(describe(StuckProcess{7, "python", "rwsem", "ext4 at /data"}),
            "pid 7 (python) waits for ext4 at /data (state D, rwsem)");
  EXPECT_EQ(describe(StuckProcess{7, "python", "", ""}),
            "pid 7 (python) waits for the kernel (state D)");
  const std::vector<StuckProcess> many(6, StuckProcess{7, "a", "", ""});
  EXPECT_EQ(describe(many),
            "pid 7 (a), pid 7 (a), pid 7 (a), pid 7 (a) and 2 more wait for the kernel (state D)");
  EXPECT_EQ(describe({StuckProcess{7, "a", "", "x"}, {8, "b", "", "x"}, {9, "c", "", "y"}}),
            "pid 7 (a) and pid 8 (b) wait for x (state D); pid 9 (c) waits for y (state D)");
}

TEST(Stuck, AProcessThatRunsIsNeitherStuckNorBeyondKill) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(find_stuck({pid}).empty());
  EXPECT_FALSE(are_beyond_kill({pid}));
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(state_of(pid), 'Z');
  EXPECT_TRUE(are_beyond_kill({pid}));
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(state_of(pid), '\0');
}

}  // namespace
}  // namespace dlaunch
