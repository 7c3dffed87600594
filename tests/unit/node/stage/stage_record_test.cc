#include "node/stage/stage_record.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;
using Kind = SyncEntry::Kind;

class StageRecordTest : public testing::Test {
 protected:
  StageRecordTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    env_ = {{"HOME", std::string(base_) + "/home"}};
    fs::create_directories(std::string(base_) + "/home");
    root_ = std::string(base_) + "/root";
    EXPECT_EQ(tree_.open(root_, true), 0);
  }
  ~StageRecordTest() override { fs::remove_all(base_); }

  /// A file or folder in the root, as a staging makes it.
  SyncEntry put(const std::string& path, Kind kind = Kind::file) {
    SyncEntry entry{path, kind, 0700, 0, 0, ""};
    if (kind == Kind::folder) {
      EXPECT_EQ(tree_.make_folder(path), 0);
    } else {
      entry.mode = 0600;
      entry.size = 4;
      entry.mtime = 1'000'000'000;
      SyncTree::NewFile file;
      EXPECT_EQ(tree_.begin_file(path, file), 0);
      EXPECT_EQ(file.write("text"), 0);
      EXPECT_EQ(tree_.finish_file(entry, file), 0);
    }
    return entry;
  }
  StageRecord record(const std::string& origin = "here:/data") {
    return StageRecord(env_, root_, {origin, "", root_, true});
  }
  std::uint64_t remove(StageRecord& record) {
    record.save({}, true);
    while (!record.remove_some(tree_)) {
    }
    return record.removed();
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      found.push_back(fs::relative(entry.path(), root_).string());
    return found;
  }

  char base_[32] = "/tmp/dlaunch-record-XXXXXX";
  std::string root_;
  Environment env_;
  SyncTree tree_;
};

TEST_F(StageRecordTest, RemovesWhatItHasWrittenAndIsGone) {
  const SyncEntry kept = put("kept");
  auto first = record();
  first.add(kept, false);  // it was there
  first.add(put("old", Kind::folder), true);
  first.add(put("old/file"), true);
  const SyncEntry stays = put("stays");
  first.add(stays, true);
  EXPECT_EQ(remove(first), 0U);
  auto other = record("here:/other");
  EXPECT_EQ(remove(other), 0U) << "of another source";
  auto second = record();
  second.add(stays, false);
  EXPECT_EQ(remove(second), 2U);
  EXPECT_THAT(names(), UnorderedElementsAre("kept", "stays"));
  auto third = record();
  EXPECT_EQ(remove(third), 1U) << "still the staging's, though it was not written again";
  EXPECT_THAT(names(), UnorderedElementsAre("kept"));
}

TEST_F(StageRecordTest, WhatWasChangedHereStays) {
  auto first = record();
  first.add(put("folder", Kind::folder), true);
  first.add(put("folder/changed"), true);
  EXPECT_EQ(remove(first), 0U);
  std::ofstream(root_ + "/folder/changed") << "by someone";
  auto second = record();
  EXPECT_EQ(remove(second), 0U);
  EXPECT_THAT(names(), UnorderedElementsAre("folder", "folder/changed"));
  fs::remove(root_ + "/folder/changed");
  auto third = record();
  EXPECT_EQ(remove(third), 1U) << "a folder that could not be removed is tried again";
}

TEST_F(StageRecordTest, WhatPythonHasCompiledGoesWithItsFolder) {
  auto first = record();
  first.add(put("package", Kind::folder), true);
  first.add(put("package/code.py"), true);
  EXPECT_EQ(remove(first), 0U);
  static_cast<void>(put("package/__pycache__", Kind::folder));
  static_cast<void>(put("package/__pycache__/code.cpython-311.pyc"));
  auto second = record();
  EXPECT_EQ(remove(second), 2U);
  EXPECT_TRUE(names().empty());
}

TEST_F(StageRecordTest, NothingIsRemovedWhereTheSourceMayBeMissing) {
  auto first = record();
  first.add(put("file"), true);
  EXPECT_EQ(remove(first), 0U);
  StageRecord second(env_, root_, {"here:/data", "", root_, false});
  EXPECT_FALSE(second.has_gone(tree_));
  EXPECT_EQ(remove(second), 0U);
  auto third = record();
  EXPECT_TRUE(third.has_gone(tree_));
  EXPECT_EQ(remove(third), 1U) << "it was still recorded";
}

TEST_F(StageRecordTest, AFileHasARecordOfItsOwn) {
  EXPECT_EQ(record_origin("/local", {"here:/a", "", "/local", true}), "stage here:/a");
  EXPECT_EQ(record_origin("/local", {"here:/a", "", "/local/b", false}), "stage here:/a to b");
  EXPECT_EQ(source_in("stage here:/a"), "here:/a");
  EXPECT_EQ(source_in("laptop"), "") << "of a sync";
}

TEST_F(StageRecordTest, TheLastOneThatWroteIsNamed) {
  const SyncEntry file = put("file");
  const auto stage = [&](const std::string& by, bool writes) {
    auto one = record();
    one.add(file, writes);
    StagedTarget about;
    about.by = by;
    about.staged_at = 7;
    about.made_folder = by == "run a";
    one.save(about, writes);
    std::optional<StagedTarget> saved;
    EXPECT_EQ(SyncRecord(env_, root_, "stage here:/data").load(&saved).size(), 1U);
    return saved.value_or(StagedTarget());
  };
  EXPECT_EQ(stage("run a", true).by, "run a");
  EXPECT_EQ(stage("run b", false).by, "run a") << "it has written nothing";
  EXPECT_EQ(stage("run c", true).by, "run c");
  EXPECT_TRUE(stage("run c", true).made_folder) << "by the first one";
}

TEST_F(StageRecordTest, AnInterruptedStagingIsRemembered) {
  {
    auto first = record();
    first.add(put("written"), true);
    SyncEntry missing{"not-yet", Kind::file, 0600, 4, 1, ""};
    first.add(missing, true);
    first.save({}, true);
  }
  auto second = record();
  EXPECT_EQ(remove(second), 1U);
  EXPECT_TRUE(names().empty());
}

TEST_F(StageRecordTest, ManyAreRemovedInTurns) {
  auto first = record();
  for (int i = 0; i < 600; ++i) first.add(put("file-" + std::to_string(i)), true);
  EXPECT_EQ(remove(first), 0U);
  auto second = record();
  EXPECT_FALSE(second.remove_some(tree_));
  EXPECT_EQ(remove(second), 600U);
}

TEST_F(StageRecordTest, WithoutAHomeFolderNothingIsRemoved) {
  env_.clear();
  auto first = record();
  first.add(put("file"), true);
  first.save({}, true);
  EXPECT_EQ(remove(first), 0U);
  auto second = record();
  EXPECT_EQ(remove(second), 0U);
  EXPECT_THAT(names(), UnorderedElementsAre("file"));
}

}  // namespace
}  // namespace dlaunch
