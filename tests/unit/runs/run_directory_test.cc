#include "runs/run_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dlaunch {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

const WallTime kNow{seconds(1795208502)};  // 2026-11-20 21:01:42 UTC
// One unit of the id's last part, rounded up.
constexpr nanoseconds kUnit{21434};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777U : 0;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class RunDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "run-directory-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A clock that goes on by one unit of the id each time it is read.
  std::function<WallTime()> clock() {
    return [this] { return kNow + kUnit * reads_++; };
  }
  std::string folder_;
  int reads_ = 0;
};

TEST(RunId, IsTheTimeInUtc) {
  EXPECT_EQ(make_run_id(kNow), "20261120-210142-000");
  EXPECT_EQ(make_run_id(kNow + nanoseconds(500'000'000)),
            "20261120-210142-i00");  // 18 * 1296 = 46656 / 2
  EXPECT_EQ(make_run_id(kNow + nanoseconds(999'999'999)), "20261120-210142-zzz");
}

TEST(RunId, SortsByTime) {
  std::vector<std::string> ids;
  for (int i = 0; i < 100'000; i += 7) ids.push_back(make_run_id(kNow + kUnit * i));
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

// XDG Base Directory Specification: default $HOME/.local/state; relative paths are to be ignored.
TEST(DefaultStateFolder, FollowsXdg) {
  EXPECT_EQ(default_state_folder({{"HOME", "/home/me"}}), "/home/me/.local/state/dlaunch/runs");
  EXPECT_EQ(default_state_folder({{"HOME", "/home/me"}, {"XDG_STATE_HOME", "/s"}}),
            "/s/dlaunch/runs");
  EXPECT_EQ(default_state_folder({{"HOME", "/home/me"}, {"XDG_STATE_HOME", "s"}}),
            "/home/me/.local/state/dlaunch/runs");
  EXPECT_EQ(default_state_folder({{"HOME", "/home/me"}, {"XDG_STATE_HOME", ""}}),
            "/home/me/.local/state/dlaunch/runs");
  EXPECT_EQ(default_state_folder({}), "");
}

TEST_F(RunDirectoryTest, IsCreatedWithItsParents) {
  const auto run = RunDirectory::create(folder_ + "/a/runs", "", clock());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->id(), "20261120-210142-000");
  EXPECT_EQ(run->path(), folder_ + "/a/runs/20261120-210142-000");
  EXPECT_FALSE(run->fell_back());
  EXPECT_EQ(mode_of(run->path()), 0700U);
}

TEST_F(RunDirectoryTest, ATakenIdAsksTheClockAgain) {
  const auto first = RunDirectory::create(folder_, "", clock());
  reads_ = 0;
  const auto second = RunDirectory::create(folder_, "", clock());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->id(), "20261120-210142-001");
}

TEST_F(RunDirectoryTest, AClockThatStandsStillIsAnError) {
  const auto still = [] { return kNow; };
  ASSERT_TRUE(RunDirectory::create(folder_, "", still));
  const auto second = RunDirectory::create(folder_, "", still);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("the clock stands still"), std::string::npos);
}

TEST_F(RunDirectoryTest, FallsBackToTheStateFolder) {
  std::ofstream(folder_ + "/file")
      << "x";  // a folder below a file cannot be made, not even by root
  const auto run = RunDirectory::create(folder_ + "/file/runs", folder_ + "/state", clock());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->fell_back());
  EXPECT_EQ(run->path(), folder_ + "/state/" + run->id());
  EXPECT_NE(run->fallback_reason().find("Not a directory"), std::string::npos)
      << run->fallback_reason();
}

TEST_F(RunDirectoryTest, SaysBothReasonsWhenNothingWorks) {
  std::ofstream(folder_ + "/file") << "x";
  const auto run = RunDirectory::create(folder_ + "/file", folder_ + "/file/state", clock());
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "cannot create " + folder_ +
                                     "/file: Not a directory; cannot create " + folder_ +
                                     "/file/state: Not a directory");
}

TEST_F(RunDirectoryTest, ARelativeBaseBecomesAbsolute) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const auto run = RunDirectory::create("./runs/", "", clock());
  std::filesystem::current_path(before);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->path(), std::filesystem::canonical(folder_).string() + "/runs/" + run->id());
}

TEST_F(RunDirectoryTest, WritesFilesWhole) {
  const auto run = RunDirectory::create(folder_, "", clock());
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->write("plan.json", "old and longer"));
  ASSERT_TRUE(run->write("plan.json", std::string("new\0", 4)));
  EXPECT_EQ(content_of(run->path() + "/plan.json"), std::string("new\0", 4));
  EXPECT_EQ(mode_of(run->path() + "/plan.json"), 0600U);
  EXPECT_FALSE(std::filesystem::exists(run->path() + "/plan.json.tmp"));
}

TEST_F(RunDirectoryTest, AFailedWriteLeavesTheOldFile) {
  const auto run = RunDirectory::create(folder_, "", clock());
  ASSERT_TRUE(run);
  std::filesystem::create_directory(run->path() + "/plan.json");  // a file cannot replace a folder
  const Status status = run->write("plan.json", "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cannot write " + run->path() + "/plan.json: Is a directory");
  EXPECT_FALSE(std::filesystem::exists(run->path() + "/plan.json.tmp"));
}

TEST_F(RunDirectoryTest, TheLastFileTakesTheRoomThatWasReserved) {
  auto run = RunDirectory::create(folder_, "", clock());
  ASSERT_TRUE(run);
  run->reserve_room();
  EXPECT_TRUE(run->write_last("summary.json", "{}\n"));
  EXPECT_EQ(content_of(run->path() + "/summary.json"), "{}\n");
  EXPECT_EQ(mode_of(run->path() + "/summary.json"), 0600U);
  EXPECT_TRUE(run->write_last("summary.json", "again\n"));  // without room, over the first
  EXPECT_EQ(content_of(run->path() + "/summary.json"), "again\n");
}

TEST_F(RunDirectoryTest, MakesAttemptFolders) {
  const auto run = RunDirectory::create(folder_, "", clock());
  ASSERT_TRUE(run);
  for (int i = 0; i < 2; ++i) {
    const auto attempt = run->make_attempt_folder(Attempt(3));
    ASSERT_TRUE(attempt);
    EXPECT_EQ(*attempt, run->path() + "/attempt-3");
    EXPECT_EQ(mode_of(*attempt), 0700U);
  }
}

}  // namespace
}  // namespace dlaunch
