#include "node/session/session_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

class SessionFolderTest : public testing::Test {
 protected:
  SessionFolderTest() { EXPECT_NE(::mkdtemp(base_), nullptr); }
  ~SessionFolderTest() override { fs::remove_all(base_); }

  [[nodiscard]] std::string user() const {
    return std::string(base_) + "/dlaunch-" + std::to_string(::geteuid());
  }
  static unsigned mode(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  }

  // Not below /tmp, which may be a tmpfs.
  char base_[40] = "/var/tmp/session-folder-XXXXXX";
};

TEST_F(SessionFolderTest, IsPrivateWhateverTheUmask) {
  SessionFolder folder({base_});
  EXPECT_EQ(folder.of_attempt(Attempt(0)), "");
  const mode_t before = ::umask(0);
  ASSERT_TRUE(folder.make("run-1"));
  const std::string attempt = folder.of_attempt(Attempt(2));
  ::umask(before);
  EXPECT_EQ(folder.path(), user() + "/run-1");
  EXPECT_EQ(attempt, user() + "/run-1/attempt-2");
  for (const std::string& path : {user(), folder.path(), attempt})
    EXPECT_EQ(mode(path), 0700U) << path;
}

TEST_F(SessionFolderTest, GoesWhenEverythingWasCollectedAndStaysElse) {
  SessionFolder folder({base_});
  ASSERT_TRUE(folder.make("run-1"));
  std::ofstream(folder.of_attempt(Attempt(0)) + "/rank-0.out") << "x";
  std::ofstream(folder.of_attempt(Attempt(1)) + "/rank-0.out") << "x";
  (void)folder.of_attempt(Attempt(2));
  folder.forget(Attempt(0));
  folder.remove_if_empty();
  EXPECT_FALSE(fs::exists(folder.path() + "/attempt-0"));
  EXPECT_TRUE(fs::exists(folder.path() + "/attempt-1/rank-0.out"));
  EXPECT_FALSE(fs::exists(folder.path() + "/attempt-2"));
  folder.forget(Attempt(1));
  folder.remove_if_empty();
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST_F(SessionFolderTest, AFolderThatOthersMayEnterOrALinkIsRefused) {
  fs::create_directory(user());
  fs::permissions(user(), fs::perms::all);
  const Status open = SessionFolder({base_}).make("run-1");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, user() + ": others may enter it (chmod 700)");
  fs::remove(user());
  fs::create_directory(std::string(base_) + "/elsewhere");
  fs::create_directory_symlink(std::string(base_) + "/elsewhere", user());
  EXPECT_FALSE(SessionFolder({base_}).make("run-1"));
  EXPECT_TRUE(fs::is_empty(std::string(base_) + "/elsewhere"));
}

TEST_F(SessionFolderTest, AFolderOfAnotherRunIsNotUsed) {
  SessionFolder first({base_});
  ASSERT_TRUE(first.make("run-1"));
  EXPECT_TRUE(first.make("run-1")) << "the same agent asks for each attempt";
  EXPECT_FALSE(SessionFolder({base_}).make("run-1"));
}

TEST_F(SessionFolderTest, TheNextBaseIsTakenWhenOneIsRefused) {
  SessionFolder folder({std::string(base_) + "/gone", base_});
  ASSERT_TRUE(folder.make("run-1"));
  EXPECT_EQ(folder.path(), user() + "/run-1");
  const Status none = SessionFolder({"/none/a", "/none/b"}).make("run-1");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("/none/b: No such file or directory"), std::string::npos);
}

TEST_F(SessionFolderTest, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"", ".", "..", "../x", "a/b", "/tmp/x"})
    EXPECT_FALSE(SessionFolder({base_}).make(name)) << name;
}

TEST(OutputBases, InOrder) {
  EXPECT_EQ(output_bases({{"TMPDIR", "/scratch"}, {"HOME", "/home/me"}}),
            (std::vector<std::string>{"/scratch", "/var/tmp", "/home/me/.cache", "/tmp"}));
  EXPECT_EQ(output_bases({{"TMPDIR", "relative"}, {"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}),
            (std::vector<std::string>{"/var/tmp", "/c", "/tmp"}));
}

}  // namespace
}  // namespace dlaunch
