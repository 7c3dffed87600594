#include "node/stage/staged_targets.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <gmock/gmock.h>

#include "node/stage/stage_claims.h"
#include "node/stage/stage_record.h"
#include "node/unpack/unpack_record.h"
#include "sync/unpack_rules.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Kind = SyncEntry::Kind;

class StagedTargetsTest : public testing::Test {
 protected:
  StagedTargetsTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    env_ = {{"HOME", path("home")}};
    fs::create_directories(path("home"));
    fs::create_directories(path("local"));
    write("precious/x", "precious");
  }
  ~StagedTargetsTest() override { fs::remove_all(base_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return std::string(base_) + '/' + name;
  }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << content;
  }
  /// Records these entries of a root, as they are, as those of a staging. `target`: "": the root.
  void record(const std::string& root, const std::vector<std::string>& entries,
              const std::string& target = "", bool unpacked = false, bool made = true,
              bool whole = true) {
    SyncTree tree;
    ASSERT_EQ(tree.open(path(root), false), 0);
    const StageOrigin origin{"login:/" + root, "", path(target.empty() ? root : target), true};
    StageRecord record(env_, path(root), origin);
    for (const std::string& entry : entries) {
      const sync::Found found = tree.look(entry);
      const Kind kind = found.kind == sync::Found::Kind::folder ? Kind::folder
                        : found.kind == sync::Found::Kind::link ? Kind::link
                                                                : Kind::file;
      record.add({entry, kind, found.mode, found.size, found.mtime, found.target}, true);
    }
    StagedTarget about;
    about.target = origin.target;
    about.source = origin.name;
    about.by = "run a";
    about.staged_at = 5;
    about.unpacked = unpacked;
    about.made_folder = made;
    about.real_root = path(root);
    record.save(about, true);
    if (whole) EXPECT_TRUE(record.remove_some(tree));
  }
  /// A folder with a bit of everything.
  void stage_folder() {
    write("local/data/a", "12345");
    write("local/data/deep/er/b", "123");
    fs::create_symlink(path("precious"), path("local/data/link"));
    record("local/data", {"a", "deep", "deep/er", "deep/er/b", "link"});
  }
  void stage_archive() {
    write("local/set/x", "1234567");
    write("local/set/old/y", "1");
    SyncTree tree;
    ASSERT_EQ(tree.open(path("local"), false), 0);
    auto identity = identity_of_folder(tree, "set");
    ASSERT_TRUE(identity);
    ASSERT_EQ(save_unpack_record(tree, "set", {*identity}), 0);
    const std::string archive = sync::archive_beside("set");
    write("local/" + archive, "tar");
    record("local", {archive}, "local/set", true);
    fs::remove(path("local/" + archive));
  }
  wire::StagedSeen see(bool clean = false, const std::vector<std::string>& paths = {}) {
    return see_staged(env_, {clean, paths, 1000});
  }
  std::vector<std::string> names(const std::string& folder = "local") {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path(folder)))
      found.push_back(fs::relative(entry.path(), path(folder)).string());
    return found;
  }
  [[nodiscard]] std::size_t records() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path("home/.cache/dlaunch/sync")))
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  char base_[32] = "/tmp/dlaunch-staged-XXXXXX";
  Environment env_;
};

TEST_F(StagedTargetsTest, ListsWhatIsThere) {
  EXPECT_THAT(see().targets, IsEmpty());
  stage_folder();
  write("local/file", "12");
  record("local", {"file"}, "local/file");
  const auto seen = see();
  ASSERT_THAT(seen.targets, SizeIs(2));
  EXPECT_EQ(seen.targets[0].target, path("local/data"));
  EXPECT_EQ(seen.targets[0].source, "login:/local/data");
  EXPECT_EQ(seen.targets[0].files, 3U) << "the link too";
  EXPECT_EQ(seen.targets[0].bytes, 8U);
  EXPECT_EQ(seen.targets[0].by, "run a");
  EXPECT_EQ(seen.targets[0].staged_at, 5);
  EXPECT_EQ(seen.targets[1].target, path("local/file"));
  EXPECT_EQ(seen.targets[1].bytes, 2U);
  EXPECT_THAT(see(false, {path("local/data")}).targets, SizeIs(1));
  EXPECT_THAT(see(false, {path("local/dat")}).targets, IsEmpty());
  write("local/file", "changed");
  EXPECT_THAT(see().targets, SizeIs(1)) << "it is not what was staged";
}

TEST_F(StagedTargetsTest, OldRecordsAreRead) {
  stage_folder();
  const SyncRecord record(env_, path("local/data"), "stage login:/local/data");
  record.save(record.load());  // without what a staging says of its target
  const auto seen = see();
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_EQ(seen.targets[0].source, "login:/local/data");
  EXPECT_EQ(seen.targets[0].by, "");
  EXPECT_EQ(seen.targets[0].bytes, 8U);
  SyncRecord(env_, path("local"), "login").save({{"x", {"x"}}});
  EXPECT_THAT(see().targets, SizeIs(1)) << "not what a sync has copied";
}

TEST_F(StagedTargetsTest, RemovesWhatItHasPutThereAndNothingElse) {
  stage_folder();
  write("local/data/deep/own", "of the user");
  write("local/data/a", "changed");
  const auto seen = see(true);
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_EQ(seen.targets[0].files, 2U);
  EXPECT_EQ(seen.targets[0].bytes, 3U);
  EXPECT_EQ(seen.targets[0].problem, "1 file stays, because it was changed after the staging");
  EXPECT_FALSE(seen.targets[0].failed);
  EXPECT_THAT(names(), UnorderedElementsAre("data", "data/a", "data/deep", "data/deep/own"));
  EXPECT_THAT(names("precious"), ElementsAre("x")) << "behind the link";
  EXPECT_EQ(records(), 0U);
}

TEST_F(StagedTargetsTest, TheFolderGoesIfAStagingHasMadeIt) {
  stage_folder();
  write("local/mine/a", "1");
  record("local/mine", {"a"}, "", false, false);
  static_cast<void>(see(true));
  EXPECT_THAT(names(), ElementsAre("mine"));
}

TEST_F(StagedTargetsTest, NoLinkLeadsOut) {
  stage_folder();
  // The same names and times elsewhere, with links to them in the way.
  fs::rename(path("local/data/deep"), path("precious/deep"));
  fs::create_symlink(path("precious/deep"), path("local/data/deep"));
  static_cast<void>(see(true));
  EXPECT_TRUE(fs::exists(path("precious/deep/er/b")));
  fs::remove_all(path("local/data"));
  stage_folder();
  fs::rename(path("local/data"), path("precious/data"));
  fs::create_symlink(path("precious/data"), path("local/data"));
  const auto seen = see(true);
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_TRUE(seen.targets[0].failed);
  EXPECT_THAT(seen.targets[0].problem, HasSubstr("leads elsewhere"));
  EXPECT_THAT(names("precious"), testing::Contains("data/deep/er/b"));
  EXPECT_TRUE(fs::is_symlink(path("local/data")));
}

TEST_F(StagedTargetsTest, FilesOfAnInterruptedUpdateStayRecorded) {
  write("local/data/new", "12");
  write("local/data/old", "as it was before the update");
  record("local/data", {"new", "old"}, "", false, true, /*whole=*/false);
  write("local/data/old", "another size than the update has recorded");
  auto seen = see(true);
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_EQ(seen.targets[0].files, 1U);
  EXPECT_TRUE(seen.targets[0].failed);
  EXPECT_THAT(seen.targets[0].problem, HasSubstr("interrupted, so 1 file stays"));
  EXPECT_THAT(names("local/data"), ElementsAre("old"));
  EXPECT_EQ(records(), 1U);
}

TEST_F(StagedTargetsTest, ReadOnlyFoldersAreRemovedToo) {
  write("local/data/sub/a", "1");
  fs::permissions(path("local/data/sub"), fs::perms(0555));
  record("local/data", {"sub", "sub/a"});
  const auto seen = see(true);
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_FALSE(seen.targets[0].failed) << seen.targets[0].problem;
  EXPECT_FALSE(fs::exists(path("local/data")));
  write("local/data/sub/a", "1");
  fs::permissions(path("local/data/sub"), fs::perms(0555));
  record("local/data", {"sub", "sub/a"});
  fs::permissions(path("local/data/sub"), fs::perms(0755));
  write("local/data/sub/mine", "1");
  fs::permissions(path("local/data/sub"), fs::perms(0555));
  static_cast<void>(see(true));
  EXPECT_THAT(names("local/data"), UnorderedElementsAre("sub", "sub/mine"));
  EXPECT_EQ(fs::status(path("local/data/sub")).permissions(), fs::perms(0555));
  fs::permissions(path("local/data/sub"), fs::perms(0755));
}

TEST_F(StagedTargetsTest, WithoutAClaimNothingIsRemoved) {
  stage_folder();
  write("home/.cache/dlaunch/claims", "in the way");
  const auto seen = see(true);
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_THAT(seen.targets[0].problem, HasSubstr("cannot tell whether a run uses it"));
  EXPECT_TRUE(fs::exists(path("local/data/a")));
}

TEST_F(StagedTargetsTest, ARecordOfAnotherPlaceIsNotBelieved) {
  write("local/data/a", "1");
  SyncTree tree;
  ASSERT_EQ(tree.open(path("local/data"), false), 0);
  const sync::Found found = tree.look("a");
  StagedTarget about;
  for (const std::string& target : {path("precious"), path("local/data/../x"), std::string("/")}) {
    about.target = target;
    SyncRecord(env_, path("local/data"), "stage login:/data")
        .save({{"a", {"a", Kind::file, found.mode, found.size, found.mtime, ""}}}, about);
    EXPECT_THAT(see(true).targets, IsEmpty()) << target;
    EXPECT_TRUE(fs::exists(path("local/data/a"))) << target;
  }
}

TEST_F(StagedTargetsTest, WhatInterruptedStagingsHaveLeft) {
  stage_folder();
  write("local/data/deep/.dlaunch-stage-0123", "12");
  write("local/data/.dlaunch-part-0123", "being made");
  write("local/.dlaunch-stage-other", "another target's");
  EXPECT_EQ(see().targets.at(0).unfinished, 2U);
  EXPECT_EQ(see(true).targets.at(0).unfinished, 2U);
  EXPECT_THAT(names(),
              UnorderedElementsAre("data", "data/.dlaunch-part-0123", ".dlaunch-stage-other"))
      << "the one that may be in the making stays";
}

TEST_F(StagedTargetsTest, AnArchiveGoesAsAWhole) {
  stage_archive();
  write("local/set/more", "written by ranks");
  write("local/" + sync::archive_beside("set"), "123");
  write("local/" + sync::unpacking_beside("set") + "/content/z", "1234");
  const auto seen = see();
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_EQ(seen.targets[0].target, path("local/set"));
  EXPECT_TRUE(seen.targets[0].unpacked);
  EXPECT_EQ(seen.targets[0].bytes, 7U + 1U + 16U);
  EXPECT_EQ(seen.targets[0].unfinished, 7U);
  fs::permissions(path("local/set"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto cleaned = see(true);
  ASSERT_THAT(cleaned.targets, SizeIs(1));
  EXPECT_EQ(cleaned.targets[0].problem, "");
  EXPECT_EQ(cleaned.targets[0].bytes, 24U);
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(records(), 0U);
}

TEST_F(StagedTargetsTest, AnotherFolderInThePlaceOfAnArchivesStays) {
  stage_archive();
  fs::rename(path("local/set"), path("moved"));
  write("local/set/own", "of the user");
  EXPECT_THAT(see().targets, IsEmpty());
  static_cast<void>(see(true));
  EXPECT_TRUE(fs::exists(path("local/set/own")));
  EXPECT_TRUE(fs::exists(path("moved/x")));
}

TEST_F(StagedTargetsTest, WhatIsInUseStays) {
  stage_folder();
  StageClaims user(env_);
  ASSERT_FALSE(user.claim("run b", {path("local/data")}));
  EXPECT_EQ(see(true).targets.at(0).problem, "is being staged by run b");
  user.use();
  EXPECT_THAT(see().targets.at(0).users, ElementsAre("run b"));
  const auto seen = see(true);
  ASSERT_THAT(seen.targets, SizeIs(1));
  EXPECT_THAT(seen.targets[0].problem, HasSubstr("is in use by run b"));
  EXPECT_FALSE(seen.targets[0].failed);
  EXPECT_TRUE(fs::exists(path("local/data/a")));
  user.release();
  EXPECT_EQ(see(true).targets.at(0).files, 3U);
}

TEST_F(StagedTargetsTest, BytesOfAFileWithSeveralNamesCountOnce) {
  write("local/data/a", "12345");
  fs::create_hard_link(path("local/data/a"), path("local/data/b"));
  record("local/data", {"a", "b"});
  for (const bool clean : {false, true}) {
    const auto seen = see(clean);
    ASSERT_THAT(seen.targets, SizeIs(1));
    EXPECT_EQ(seen.targets[0].files, 2U);
    EXPECT_EQ(seen.targets[0].bytes, 5U);
  }
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace dlaunch
