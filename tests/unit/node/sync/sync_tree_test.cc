// Writing below a folder: nothing leads out of it, and a file gets its name only when complete.
#include "node/sync/sync_tree.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "node/sync/sync_record.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using Kind = SyncEntry::Kind;

class SyncTreeTest : public testing::Test {
 protected:
  SyncTreeTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-tree-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    root_ = folder_ + "/root";
    outside_ = folder_ + "/outside";
    fs::create_directory(outside_);
    std::ofstream(outside_ + "/precious") << "precious";
    EXPECT_EQ(tree_.open(root_, true), 0);
  }
  ~SyncTreeTest() override { fs::remove_all(folder_); }

  int put(const std::string& path, const std::string& text, std::uint32_t mode = 0640) {
    SyncTree::NewFile file;
    if (const int error = tree_.begin_file(path, file); error != 0) return error;
    EXPECT_EQ(file.write(text), 0);
    return tree_.finish_file({path, Kind::file, mode, text.size(), 1'500'000'000'123'456'789, ""},
                             file);
  }
  [[nodiscard]] std::string text_of(const std::string& path) const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
  std::string root_;
  std::string outside_;
  SyncTree tree_;
};

TEST_F(SyncTreeTest, WritesWholeFilesWithModeAndTime) {
  EXPECT_EQ(tree_.make_folder("a"), 0);
  EXPECT_EQ(put("a/x", "text"), 0);
  struct stat info {};
  ASSERT_EQ(::stat((root_ + "/a/x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
  EXPECT_EQ(info.st_mtim.tv_sec, 1'500'000'000);
  EXPECT_EQ(info.st_mtim.tv_nsec, 123'456'789);
  EXPECT_EQ(text_of(root_ + "/a/x"), "text");
  EXPECT_EQ(put("a/x", "other"), 0);  // replaced
  EXPECT_EQ(text_of(root_ + "/a/x"), "other");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/a"), {}), 1);
}

TEST_F(SyncTreeTest, AHalfFileLeavesNothing) {
  EXPECT_EQ(put("x", "old"), 0);
  {
    SyncTree::NewFile file;
    ASSERT_EQ(tree_.begin_file("x", file), 0);
    ASSERT_EQ(file.write("ne"), 0);
  }
  EXPECT_EQ(text_of(root_ + "/x"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
}

TEST_F(SyncTreeTest, NoLinkIsFollowed) {
  fs::create_symlink(outside_, root_ + "/link");
  fs::create_symlink(outside_ + "/precious", root_ + "/file");
  EXPECT_EQ(tree_.look("link").kind, sync::Found::Kind::link);
  EXPECT_EQ(tree_.look("link").target, outside_);
  EXPECT_EQ(tree_.look("link/precious").kind, sync::Found::Kind::nothing);
  EXPECT_NE(put("link/new", "x"), 0);
  EXPECT_NE(tree_.make_folder("link/folder"), 0);
  EXPECT_NE(tree_.make_link("link/other", "x"), 0);
  EXPECT_NE(tree_.remove("link/precious", false), 0);
  EXPECT_NE(tree_.set_mode({"file", Kind::file, 0777, 0, 0, ""}), 0);
  EXPECT_FALSE(tree_.open_file("file"));
  EXPECT_EQ(put("file", "own"), 0);  // takes the link's place
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(root_ + "/file")));
  EXPECT_EQ(text_of(outside_ + "/precious"), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside_), {}), 1);
}

TEST_F(SyncTreeTest, AFolderThatBecomesALinkInTheMiddleIsNotFollowed) {
  ASSERT_EQ(tree_.make_folder("a"), 0);
  SyncTree::NewFile file;
  ASSERT_EQ(tree_.begin_file("a/x", file), 0);
  ASSERT_EQ(file.write("x"), 0);
  fs::rename(root_ + "/a", root_ + "/b");
  fs::create_symlink(outside_, root_ + "/a");
  EXPECT_EQ(tree_.finish_file({"a/x", Kind::file, 0644, 1, 0, ""}, file), 0);  // where a was
  EXPECT_TRUE(fs::exists(root_ + "/b/x"));
  EXPECT_FALSE(fs::exists(outside_ + "/x"));
}

TEST_F(SyncTreeTest, FoldersAreNotReplaced) {
  ASSERT_EQ(tree_.make_folder("a"), 0);
  EXPECT_EQ(put("a", "x"), EISDIR);
  EXPECT_NE(tree_.make_link("a", "x"), 0);
  EXPECT_EQ(put("a/x", "x"), 0);
  EXPECT_EQ(tree_.remove("a", true), ENOTEMPTY);
  EXPECT_EQ(tree_.remove("a/x", false), 0);
  EXPECT_EQ(tree_.remove("a", true), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 0);
}

TEST_F(SyncTreeTest, TimesBefore1970) {
  EXPECT_EQ(put("x", ""), 0);
  const SyncEntry entry{"x", Kind::file, 0600, 0, -1'500'000'000, ""};
  EXPECT_EQ(tree_.set_mode_and_time(entry), 0);
  EXPECT_EQ(tree_.look("x").mtime, -1'500'000'000);
  EXPECT_EQ(tree_.look("x").mode, 0600U);
}

TEST_F(SyncTreeTest, TheRootIsMade) {
  SyncTree tree;
  EXPECT_EQ(tree.open(folder_ + "/new/deep/root", false), ENOENT);
  EXPECT_EQ(tree.open(folder_ + "/new/deep/root", true), 0);
  EXPECT_EQ(tree.check_writable(), 0);
  EXPECT_FALSE(tree.has("x"));
  EXPECT_EQ(tree.open(outside_ + "/precious", true), ENOTDIR);
  EXPECT_EQ(tree.open(outside_ + "/precious/x", true), ENOTDIR);
}

TEST_F(SyncTreeTest, TheRecordSurvivesAndIsRefusedWhenItIsNotOurs) {
  const Environment env = {{"XDG_CACHE_HOME", folder_ + "/cache"}};
  const SyncRecord record(env, "/home/me/job", "laptop");
  EXPECT_TRUE(record.load().empty());
  SyncEntries entries;
  for (int i = 0; i < 2500; ++i) {
    const std::string path = "folder/file-" + std::to_string(i);
    entries[path] = {path, Kind::file, 0644, static_cast<std::uint64_t>(i), i, ""};
  }
  entries["link"] = {"link", Kind::link, 0, 0, 0, "\xff"};
  record.save(entries);
  EXPECT_EQ(record.load(), entries);
  struct stat info {};
  ASSERT_EQ(::stat(record.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  EXPECT_TRUE(SyncRecord(env, "/home/me/job", "desktop").load().empty());
  EXPECT_TRUE(SyncRecord(env, "/home/me/other", "laptop").load().empty());
  EXPECT_TRUE(SyncRecord({}, "/home/me/job", "laptop").path().empty());

  std::optional<StagedTarget> about;
  EXPECT_EQ(record.load(&about), entries);
  EXPECT_EQ(about, std::nullopt) << "a record of a sync, or of an old version";
  StagedTarget target;
  target.target = "/home/me/job";
  target.by = "run 20261120-210142-k3f";
  record.save(entries, target);
  EXPECT_EQ(record.load(&about), entries);
  EXPECT_EQ(about, target);

  std::vector<std::string> found;
  const auto list = [&] {
    found.clear();
    for_each_record(env,
                    [&](const FoundRecord& one) { found.push_back(one.root + ' ' + one.origin); });
    return found;
  };
  EXPECT_EQ(list(), std::vector<std::string>{"/home/me/job laptop"});
  fs::copy_file(record.path(), folder_ + "/cache/dlaunch/sync/other-name");
  EXPECT_EQ(list().size(), 1U) << "it is not where that record belongs";
  fs::remove(folder_ + "/cache/dlaunch/sync/other-name");

  // Another folder at the same path, as on another node with the same home.
  const std::string job = folder_ + "/job";
  fs::create_directory(job);
  SyncRecord(env, job, "laptop").save(entries);
  EXPECT_FALSE(SyncRecord(env, job, "laptop").load().empty());
  fs::rename(job, job + ".old");
  fs::create_directory(job);
  EXPECT_TRUE(SyncRecord(env, job, "laptop").load().empty());
  EXPECT_EQ(list().size(), 1U) << "the record is of the other folder";

  const std::string text = text_of(record.path());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{10}, text.size() / 2, text.size() - 1}) {
    std::ofstream(record.path(), std::ios::binary) << text.substr(0, size);
    EXPECT_TRUE(record.load().empty()) << size;
  }
  fs::remove(record.path());
  std::ofstream(folder_ + "/elsewhere", std::ios::binary) << text;
  fs::create_symlink(folder_ + "/elsewhere", record.path());
  EXPECT_TRUE(record.load().empty());
}

TEST_F(SyncTreeTest, FilesThatHaveTheirNameAtOnce) {
  UniqueFd file;
  ASSERT_EQ(tree_.make_file("a", file), 0);
  ASSERT_EQ(tree_.make_hard_link("b", "a"), 0);
  EXPECT_EQ(tree_.make_hard_link("b", "a"), 0);  // already
  ASSERT_EQ(tree_.make_file("a", file), 0);      // another file: b stays
  EXPECT_EQ(SyncTree::set_mode_and_time(file, {"", Kind::file, 0604, 0, 1'000'000'000, ""}), 0);
  struct stat a {};
  struct stat b {};
  ASSERT_EQ(::stat((root_ + "/a").c_str(), &a), 0);
  ASSERT_EQ(::stat((root_ + "/b").c_str(), &b), 0);
  EXPECT_NE(a.st_ino, b.st_ino);
  EXPECT_EQ(a.st_mode & 07777, 0604U);
  EXPECT_EQ(b.st_nlink, 1U);
  fs::create_symlink(outside_, root_ + "/out");
  EXPECT_EQ(tree_.make_file("out/x", file), ENOTDIR);
  EXPECT_EQ(tree_.make_hard_link("x", "out/precious"), ENOTDIR);
  EXPECT_EQ(tree_.make_hard_link("out/x", "a"), ENOTDIR);
  ASSERT_EQ(tree_.make_file("out", file), 0);  // the link goes, not what it leads to
  EXPECT_EQ(text_of(outside_ + "/precious"), "precious");
  ASSERT_EQ(tree_.make_folder("folder"), 0);
  EXPECT_EQ(tree_.make_file("folder", file), EISDIR);
}

TEST_F(SyncTreeTest, FoldersChangePlaces) {
  ASSERT_EQ(tree_.make_folder("new"), 0);
  ASSERT_EQ(tree_.make_folder("new/content"), 0);
  ASSERT_EQ(put("new/content/x", "new"), 0);
  ASSERT_EQ(tree_.make_folder("target"), 0);
  ASSERT_EQ(put("target/x", "old"), 0);
  ASSERT_EQ(tree_.exchange("new/content", "target"), 0);
  EXPECT_EQ(text_of(root_ + "/target/x"), "new");
  EXPECT_EQ(text_of(root_ + "/new/content/x"), "old");
  ASSERT_EQ(put("target/y", "y"), 0);  // in the new folder, not where the name led before
  EXPECT_EQ(text_of(root_ + "/target/y"), "y");
  ASSERT_EQ(tree_.rename("new/content", "other"), 0);
  EXPECT_EQ(text_of(root_ + "/other/x"), "old");
  EXPECT_EQ(tree_.exchange("other", "missing"), ENOENT);
  EXPECT_TRUE(tree_.open_folder("other"));
  EXPECT_FALSE(tree_.open_folder("other/x"));
}

}  // namespace
}  // namespace dlaunch
