#include "os/files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

class UnnamedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "dlaunch-unnamed-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    file_ = open_unnamed_file(folder_, 0600);
    if (!file_) GTEST_SKIP() << "no O_TMPFILE in " << folder_ << ": " << errno_text(errno);
    ASSERT_EQ(::write(file_.get(), "text", 4), 4);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
  UniqueFd file_;
};

TEST_F(UnnamedFile, IsNotInItsFolderBeforeItHasAName) {
  EXPECT_TRUE(fs::is_empty(folder_));
  file_.reset();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(UnnamedFile, GetsItsNameWithAllItsContent) {
  EXPECT_EQ(give_name(file_, folder_ + "/name"), 0);
  EXPECT_EQ(fs::file_size(folder_ + "/name"), 4U);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ + "/name").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(UnnamedFile, DoesNotReplaceAnother) {
  const UniqueFd other = open_unnamed_file(folder_, 0600);
  ASSERT_EQ(give_name(other, folder_ + "/name"), 0);
  EXPECT_EQ(give_name(file_, folder_ + "/name"), EEXIST);
  EXPECT_EQ(fs::file_size(folder_ + "/name"), 0U);
}

TEST_F(UnnamedFile, SaysWhyItGotNoName) {
  EXPECT_EQ(give_name(file_, folder_ + "/no-folder/name"), ENOENT);
}

}  // namespace
}  // namespace dlaunch
