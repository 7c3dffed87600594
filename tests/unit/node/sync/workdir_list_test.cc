// Which files of a workdir are copied.
#include "node/sync/workdir_list.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = SyncEntry::Kind;

class WorkdirListTest : public testing::Test {
 protected:
  WorkdirListTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-list-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    settings_.root = folder_ + "/repo";
    settings_.most_files = 1000;
    settings_.most_bytes = 1 << 20;
    fs::create_directory(settings_.root);
  }
  ~WorkdirListTest() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text = "x") const {
    const fs::path whole = fs::path(folder_) / "repo" / path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  /// Paths, folders with a '/'; or the error.
  std::vector<std::string> list(std::size_t step = 3) {
    WorkdirLister lister(settings_);
    while (!lister.step(step)) {
    }
    if (!lister.status()) return {lister.status().error().message};
    extent_ = lister.extent();
    special_ = lister.special();
    entries_ = lister.take();
    std::vector<std::string> paths;
    for (const SyncEntry& entry : entries_)
      paths.push_back(entry.path + (entry.kind == Kind::folder ? "/" : ""));
    return paths;
  }

  std::string folder_;
  WorkdirListSettings settings_;
  SyncExtent extent_;
  std::vector<SyncEntry> entries_;
  std::vector<std::string> special_;
};

TEST_F(WorkdirListTest, WithoutWhatTheSettingsExclude) {
  for (const char* name : {"a.pt", "data/x", "src/data/x", "src/b.pt", "src/keep.pt", "train.py"})
    write(name);
  write(".gitignore", "!a.pt\n");  // includes nothing that the settings exclude
  settings_.exclude = {"*.pt", "!keep.pt", "/data/"};
  EXPECT_THAT(list(), ElementsAre(".gitignore", "src/", "src/data/", "src/data/x", "src/keep.pt",
                                  "train.py"));
  settings_.is_named = true;
  EXPECT_THAT(list(), ElementsAre(".gitignore", "src/", "src/data/", "src/data/x", "src/keep.pt",
                                  "train.py"));
}

TEST_F(WorkdirListTest, EverythingWithItsKind) {
  write("b/deep/x", "12345");
  write("a");
  fs::create_directory(settings_.root + "/empty");
  fs::create_symlink("/mnt/data", settings_.root + "/data");
  fs::create_symlink("b", settings_.root + "/folder-link");  // not walked into
  fs::permissions(settings_.root + "/a", fs::perms(0750));
  ASSERT_EQ(::mkfifo((settings_.root + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(list(),
              ElementsAre("a", "b/", "b/deep/", "b/deep/x", "data", "empty/", "folder-link"));
  EXPECT_EQ(entries_[0].mode, 0750U);
  EXPECT_EQ(entries_[3].size, 5U);
  EXPECT_NE(entries_[3].mtime, 0);
  EXPECT_EQ(entries_[4].target, "/mnt/data");
  EXPECT_EQ(extent_, (SyncExtent{4, 6}));
  EXPECT_THAT(special_, ElementsAre("pipe"));
}

TEST_F(WorkdirListTest, GitAndItsIgnoreFiles) {
  write(".git/config");
  write(".git/info/exclude", "secret\n");
  write(".gitignore", "*.o\n/build/\n");
  write("x.o");
  write("secret");
  write("build/a");
  write("src/build/a");
  write("src/.gitignore", "!keep.o\n/local\n");
  write("src/keep.o");
  write("src/local");
  write("src/x.o");
  write("venv/.gitignore", "*\n");
  write("venv/bin/python");
  write("sub/.git", "gitdir: ../.git/modules/sub\n");
  write("sub/a");
  EXPECT_THAT(list(), ElementsAre(".gitignore", "src/", "src/.gitignore", "src/build/",
                                  "src/build/a", "src/keep.o", "sub/", "sub/a", "venv/"));
}

TEST_F(WorkdirListTest, TheRulesOfTheRepositoryAbove) {
  write(".git/info/exclude", "secret\n");
  write(".gitignore", "*.o\n/src/job/data\n/scratch/\n");
  write("src/.gitignore", "*.tmp\n");
  write("src/job/data");
  write("src/job/a.o");
  write("src/job/a.tmp");
  write("src/job/secret");
  write("src/job/train.py");
  write("scratch/job/a.o");
  settings_.root = folder_ + "/repo/src/job";
  EXPECT_THAT(list(), ElementsAre("train.py"));
  settings_.root = folder_ + "/repo/scratch/job";  // ignored as a whole: then it counts by itself
  EXPECT_THAT(list(), ElementsAre("a.o"));
}

TEST_F(WorkdirListTest, WithoutARepositoryIgnoreFilesCountToo) {
  write(".gitignore", "data\n");
  write("data");
  write("a");
  EXPECT_THAT(list(), ElementsAre(".gitignore", "a"));
}

TEST_F(WorkdirListTest, AnIgnoreFileThatIsALinkIsNotRead) {
  write("rules", "a\n");
  write("a");
  fs::create_symlink("rules", settings_.root + "/.gitignore");
  EXPECT_THAT(list(), ElementsAre(".gitignore", "a", "rules"));
}

TEST_F(WorkdirListTest, AnIgnoreFileThatCannotBeReadIsNoneThatIsMissing) {
  write("secret");
  write("sub/.gitignore", "secret\n" + std::string(1 << 20, '#'));
  EXPECT_THAT(list().front(), HasSubstr("/repo/sub/.gitignore: larger than 1 MiB"));
}

TEST_F(WorkdirListTest, RunFoldersAndOwnFiles) {
  write("runs/20261122-120000-abc/run.json");
  write("other/runs/a");
  write(".dlaunch-sync-00");
  write("a");
  settings_.run_base = settings_.root + "/runs";
  EXPECT_THAT(list(), ElementsAre("a", "other/", "other/runs/", "other/runs/a"));
  fs::remove_all(settings_.root + "/runs");
  write("20261122-120000-abc/run.json");
  settings_.run_base = settings_.root;  // logs.dir: .
  EXPECT_THAT(list(), ElementsAre("a", "other/", "other/runs/", "other/runs/a"));
}

TEST_F(WorkdirListTest, WhatIsTooMuchIsToldWithTheLargest) {
  write("data/a", std::string(700'000, 'x'));
  write("data/b", std::string(500'000, 'x'));
  write("core", std::string(50'000, 'x'));
  write("a");
  const std::string text = list().front();
  EXPECT_THAT(text, HasSubstr("holds 5 files and folders with 1.3 MB; at most 1000 and 1.0 MB are copied"));
  EXPECT_THAT(text, HasSubstr("the largest: data/ (1.2 MB), core (50 kB), a (1 byte)"));
  EXPECT_THAT(text, HasSubstr(".gitignore"));
  settings_.most_bytes = 10 << 20;
  settings_.most_files = 3;
  EXPECT_THAT(list().front(), HasSubstr("holds 5 files"));
  settings_.most_files = 5;
  EXPECT_EQ(list().size(), 5U);
}

TEST_F(WorkdirListTest, HomeAndRootAreNotCopiedAsAWhole) {
  settings_.home = settings_.root;
  EXPECT_THAT(list().front(), HasSubstr("your home folder"));
  settings_.home = settings_.root + "/me";
  fs::create_directory(settings_.home);
  EXPECT_THAT(list().front(), HasSubstr("/repo holds your home folder"));
  settings_.home = settings_.root + "-me";
  EXPECT_THAT(list(), ElementsAre("me/"));
  settings_.root = "/";
  EXPECT_THAT(list().front(), HasSubstr("the workdir is /"));
}

TEST_F(WorkdirListTest, AWorkdirThatIsMissing) {
  settings_.root += "/missing";
  EXPECT_THAT(list().front(), HasSubstr("missing: No such file or directory"));
}

TEST_F(WorkdirListTest, NamesAreBytes) {
  write("\xff\n");
  EXPECT_THAT(list(), ElementsAre("\xff\n"));
}

}  // namespace
}  // namespace dlaunch
