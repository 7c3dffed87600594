#include "node/sync/git_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dlaunch {
namespace {

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

class GitCommitTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "git-commit-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = std::filesystem::canonical(pattern).string();
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(top_ + '/' + name).parent_path());
    std::ofstream(top_ + '/' + name) << text;
  }
  std::string top_;
};

TEST_F(GitCommitTest, OfABranch) {
  write("repo/.git/HEAD", "ref: refs/heads/feature/x\n");
  write("repo/.git/refs/heads/feature/x", kCommit + "\n");
  write("repo/deep/file", "");
  const GitState state = read_git(top_ + "/repo/deep");
  EXPECT_EQ(state.commit, kCommit);
  EXPECT_EQ(state.branch, "feature/x");
  EXPECT_FALSE(state.changes);
}

TEST_F(GitCommitTest, OfAPackedBranch) {
  write("repo/.git/HEAD", "ref: refs/heads/main\n");
  write("repo/.git/packed-refs", "# pack-refs with: peeled\n" + std::string(40, 'f') +
                                     " refs/heads/main2\n" + kCommit + " refs/heads/main\n");
  EXPECT_EQ(read_git(top_ + "/repo").commit, kCommit);
}

TEST_F(GitCommitTest, WithoutABranch) {
  write("repo/.git/HEAD", kCommit + "\n");
  EXPECT_EQ(read_git(top_ + "/repo").commit, kCommit);
  EXPECT_EQ(read_git(top_ + "/repo").branch, "");
}

TEST_F(GitCommitTest, OfALinkedWorkTree) {
  write("repo/.git/refs/heads/other", kCommit + "\n");
  write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/other\n");
  write("repo/.git/worktrees/w/commondir", "../..\n");
  write("w/.git", "gitdir: " + top_ + "/repo/.git/worktrees/w\n");
  EXPECT_EQ(read_git(top_ + "/w").commit, kCommit);
  EXPECT_EQ(read_git(top_ + "/w").branch, "other");
}

TEST_F(GitCommitTest, NothingWhereThereIsNone) {
  EXPECT_EQ(read_git("/proc/self").commit, "");
  write("new/.git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(read_git(top_ + "/new").commit, "") << "no commit yet";
  write("bad/.git/HEAD", "ref: ../../outside\n");
  write("outside", kCommit + "\n");
  EXPECT_EQ(read_git(top_ + "/bad").commit, "");
}

}  // namespace
}  // namespace dlaunch
