// Hard links and holes, from a folder to a folder: a StageSource and a StageFiles, without the
// messages between them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <sys/stat.h>
#include <unistd.h>

#include "node/stage/stage_files.h"
#include "node/stage/stage_source.h"
#include "os/content_hash.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kBlock = sync::kBlockBytes;

class StageNamesTest : public testing::Test {
 protected:
  StageNamesTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    for (const char* folder : {"home", "here", "there"}) fs::create_directory(path(folder));
    env_ = {{"HOME", path("home")}};
  }
  ~StageNamesTest() override { fs::remove_all(base_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return std::string(base_) + '/' + name;
  }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::remove(path(name));
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  void link(const std::string& name, const std::string& other) const {
    fs::create_directories(fs::path(path(other)).parent_path());
    fs::create_hard_link(path(name), path(other));
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] struct stat look(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::lstat(path(name).c_str(), &info), 0) << name;
    return info;
  }
  /// How many files these names are.
  [[nodiscard]] std::size_t files(const std::vector<std::string>& names) const {
    std::set<ino_t> inodes;
    for (const std::string& name : names) inodes.insert(look("there/" + name).st_ino);
    return inodes.size();
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path("there")))
      found.insert(fs::relative(entry.path(), path("there")).string());
    return {found.begin(), found.end()};
  }

  struct Staged {
    std::uint64_t bytes = 0;  // of the pieces, without their headers
    std::uint64_t removed = 0;
    std::vector<std::string> changed;  // targets
  };
  /// Stages "here" to to_. `lacking`: blocks, from the first one on, that another node lacks.
  /// `ends`: it is not interrupted once all blocks are written.
  Staged stage(std::uint64_t lacking = 0, bool ends = true) {
    StageSource source({{path("here"), path(to_)}}, "");
    while (!source.list_some()) {
    }
    EXPECT_TRUE(source.status());
    extent_ = source.extent();
    StageFiles files;
    files.open(source.roots(), source.origins("login"), env_, "run a");
    files.add(source.entries());
    std::vector<StageWant> wants;
    while (files.problem().empty() && !files.look_some(wants)) {
    }
    EXPECT_EQ(files.problem(), "");
    const sync::BlockMap& map = source.map();
    std::vector<bool> missing(std::min(map.total(), lacking), true);
    missing.resize(map.total());
    StageSource::Reader reader;
    const auto block_at = [&](std::uint64_t block) {
      std::string bytes;
      EXPECT_EQ(source.read(block, reader, bytes), "");
      return bytes;
    };
    std::vector<std::uint32_t> same;
    std::map<std::uint32_t, std::vector<std::uint64_t>> told;
    for (const StageWant& want : wants)
      told[want.entry].insert(told[want.entry].end(), want.hashes.begin(), want.hashes.end());
    for (const auto& [entry, hashes] : told) {
      const std::uint64_t first = map.first_of(entry);
      bool is_same = true;
      for (std::uint64_t i = 0; first + i < map.end_of(entry); ++i) {
        if (i < hashes.size() && hashes[i] == block_hash(block_at(first + i))) continue;
        missing[first + i] = true;
        is_same = false;
      }
      if (is_same) same.push_back(entry);
    }
    const sync::BlockStream stream(missing);
    files.add(stream.runs(), same);
    files.check_room();
    EXPECT_EQ(files.problem(), "");
    Staged staged;
    staged.changed = files.changed_targets();
    while (!files.make_some()) {
    }
    for (std::uint32_t entry = 0; entry < source.entries().size(); ++entry) {
      FileHasher hasher;
      for (std::uint64_t i = map.first_of(entry); i < map.end_of(entry); ++i)
        hasher.add(block_at(i));
      files.set_hash(entry, hasher.hash());
    }
    StageFiles::Reader next;
    for (std::uint64_t i = 0; i < stream.size(); ++i) {
      std::string sent;
      sync::append_piece({stream.at(i), block_hash(block_at(stream.at(i))), block_at(stream.at(i))},
                         sent);
      staged.bytes += sent.size() - sync::kPieceHeader;
      const auto pieces = sync::read_pieces(sent);
      EXPECT_TRUE(pieces);
      if (pieces) files.take(*pieces);
      while (files.write_some()) {
      }
      std::string passed_on;
      EXPECT_EQ(files.read(i, next, passed_on), 0);
      EXPECT_EQ(passed_on, sent);
    }
    EXPECT_TRUE(files.is_complete());
    while (ends && !files.finish_some()) {
      while (files.write_some()) {
      }
    }
    EXPECT_EQ(files.problem(), "");
    staged.removed = files.removed();
    return staged;
  }

  char base_[32] = "/tmp/dlaunch-names-XXXXXX";
  std::string to_ = "there";
  Environment env_;
  SyncExtent extent_;
};

const std::string kText(3 * kBlock + 5, 'x');

TEST_F(StageNamesTest, SentOnceAndLinkedThere) {
  write("here/a", kText);
  link("here/a", "here/sub/b");
  link("here/a", "here/z\xff\n");
  write("here/other", "other");
  write("here/empty", "");
  link("here/empty", "here/empty2");
  EXPECT_EQ(stage().bytes, kText.size() + 5);
  EXPECT_EQ(extent_, (SyncExtent{6, kText.size() + 5}));
  EXPECT_EQ(files({"a", "sub/b", "z\xff\n"}), 1U);
  EXPECT_EQ(files({"a", "other", "empty"}), 3U);
  EXPECT_EQ(files({"empty", "empty2"}), 1U);
  EXPECT_EQ(look("there/a").st_nlink, 3U);
  EXPECT_EQ(read("there/sub/b"), kText);
  EXPECT_THAT(names(), ElementsAre("a", "empty", "empty2", "other", "sub", "sub/b", "z\xff\n"));

  const struct stat before = look("there/a");
  const Staged again = stage();
  EXPECT_EQ(again.bytes, 0U);
  EXPECT_THAT(again.changed, IsEmpty());
  EXPECT_EQ(look("there/a").st_ino, before.st_ino);
  EXPECT_EQ(look("there/a").st_ctim.tv_nsec, before.st_ctim.tv_nsec) << "not linked again";
}

TEST_F(StageNamesTest, EqualFilesBecomeLinks) {
  write("here/a", kText);
  stage();
  fs::copy(path("there/a"), path("there/b"));
  fs::last_write_time(path("there/b"), fs::last_write_time(path("there/a")));
  link("here/a", "here/b");
  const Staged staged = stage();
  EXPECT_EQ(staged.bytes, 0U);
  EXPECT_THAT(staged.changed, IsEmpty()) << "a run that uses it sees no difference";
  EXPECT_EQ(files({"a", "b"}), 1U);
}

TEST_F(StageNamesTest, AFurtherNameNeedsNoContent) {
  write("here/m", kText);
  stage();
  const ino_t inode = look("there/m").st_ino;
  link("here/m", "here/a");
  link("here/m", "here/z");
  const Staged staged = stage();
  EXPECT_EQ(staged.bytes, 0U);
  EXPECT_THAT(staged.changed, ElementsAre(path("there")));
  EXPECT_EQ(look("there/a").st_ino, inode);
  EXPECT_EQ(look("there/z").st_ino, inode);
  fs::remove(path("here/z"));
  fs::remove(path("here/a"));
  EXPECT_EQ(stage().removed, 2U) << "both were made by stagings";
  EXPECT_THAT(names(), ElementsAre("m"));
}

TEST_F(StageNamesTest, AnotherNodeLacksAFileThatIsHereByAnotherName) {
  write("here/m", kText);
  stage();
  link("here/m", "here/z");
  write("there/" + SyncTree::part_of("z"), "left by another staging");
  stage(1);
  EXPECT_EQ(files({"m", "z"}), 1U);
  EXPECT_EQ(read("there/z"), kText);
  stage(~std::uint64_t{0});
  EXPECT_EQ(files({"m", "z"}), 1U);
  EXPECT_THAT(names(), ElementsAre("m", "z"));
}

TEST_F(StageNamesTest, TheSourceItselfStaysAsItIs) {
  write("here/a", kText);
  link("here/a", "here/b");
  to_ = "here";
  const struct stat before = look("here/a");
  stage(~std::uint64_t{0});
  EXPECT_EQ(look("here/a").st_ctim.tv_nsec, before.st_ctim.tv_nsec);
  EXPECT_EQ(look("here/a").st_ino, look("here/b").st_ino);
}

TEST_F(StageNamesTest, ANameThatBecomesAFileOfItsOwn) {
  write("here/a", kText);
  link("here/a", "here/b");
  link("here/a", "here/c");
  stage();
  write("here/b", "changed");
  EXPECT_EQ(stage().bytes, 7U);
  EXPECT_EQ(read("there/a"), kText);
  EXPECT_EQ(files({"a", "c"}), 1U);
  EXPECT_EQ(files({"a", "b"}), 2U);
  link("here/c", "here/d");
  stage();
  write("here/a", "first");
  EXPECT_EQ(stage().bytes, 5U);
  EXPECT_EQ(files({"c", "d"}), 1U);
  fs::remove(path("here/d"));
  fs::remove(path("here/a"));
  fs::create_hard_link(path("here/c"), path("here/a"));
  stage();
  EXPECT_EQ(files({"a", "c"}), 1U);

  // With the same size and time, but other permission bits.
  fs::copy(path("here/c"), path("here/d"));
  fs::last_write_time(path("here/d"), fs::last_write_time(path("here/c")));
  fs::rename(path("here/d"), path("here/c"));
  fs::permissions(path("here/c"), fs::perms::owner_read);
  EXPECT_LE(stage().bytes, kBlock);
  EXPECT_EQ(files({"a", "c"}), 2U);
  EXPECT_EQ(look("there/a").st_mode & 0777U, look("here/a").st_mode & 0777U);
  EXPECT_EQ(look("there/c").st_mode & 0777U, 0400U);
  EXPECT_EQ(stage().bytes, 0U);
}

TEST_F(StageNamesTest, AChangeOfTheFileReachesAllNames) {
  write("here/a", kText);
  link("here/a", "here/b");
  stage();
  std::ofstream(path("here/b"), std::ios::app) << "more";
  EXPECT_EQ(stage().bytes, 9U) << "the last block";
  EXPECT_EQ(files({"a", "b"}), 1U);
  EXPECT_EQ(read("there/a"), kText + "more");
}

TEST_F(StageNamesTest, ANewTimeChangesNoNameThatIsGone) {
  write("here/a", kText);
  link("here/a", "here/b");
  stage();
  const ino_t inode = look("there/a").st_ino;
  fs::last_write_time(path("here/a"), fs::last_write_time(path("here/a")) + std::chrono::hours(1));
  EXPECT_EQ(stage().bytes, 0U);
  EXPECT_EQ(files({"a", "b"}), 1U);
  EXPECT_EQ(look("there/a").st_ino, inode);
  EXPECT_EQ(look("there/a").st_mtim.tv_sec, look("here/a").st_mtim.tv_sec);

  fs::remove(path("here/a"));
  fs::last_write_time(path("here/b"), fs::last_write_time(path("here/b")) + std::chrono::hours(1));
  EXPECT_EQ(stage().removed, 1U);
  EXPECT_THAT(names(), ElementsAre("b"));
}

TEST_F(StageNamesTest, ALinkThatWasNotMadeBecauseOfAnInterruption) {
  write("here/a", kText);
  link("here/a", "here/b");
  stage(0, false);
  EXPECT_THAT(names(), ElementsAre("b")) << "the last one brings the content";
  EXPECT_EQ(stage().bytes, 0U);
  EXPECT_EQ(files({"a", "b"}), 1U);
}

TEST_F(StageNamesTest, WhatTheNodeHasAtANameIsReplaced) {
  write("here/a", kText);
  link("here/a", "here/b");
  link("here/a", "here/c");
  write("there/a", "own");
  fs::create_symlink("/etc/passwd", path("there/b"));
  write("there/precious", "precious");
  link("there/precious", "there/c");
  stage();
  EXPECT_EQ(files({"a", "b", "c"}), 1U);
  EXPECT_EQ(read("there/b"), kText);
  EXPECT_EQ(read("there/precious"), "precious");
}

TEST_F(StageNamesTest, WrongAnnouncements) {
  const auto file = [](const char* name, std::uint32_t content_after, std::uint64_t size = 5) {
    return StageEntry{0, {name, SyncEntry::Kind::file, 0644, size, 1, ""}, "", content_after};
  };
  StageEntry other_root = file("b", 0);
  other_root.root = 1;
  StageEntry folder = file("b", 0);
  folder.entry.kind = SyncEntry::Kind::folder;
  StageEntry archive = file("b", 0);
  archive.unpack = "c";
  const std::vector<StageEntry> wrong[] = {
      {file("a", 1), file("b", 0, 6)},
      {file("a", 1), file("b", 1), file("c", 0)},
      {file("a", 1), other_root},
      {file("a", 1), folder},
      {file("a", 1), archive},
      {file("a", ~std::uint32_t{0}), file("b", ~std::uint32_t{0})},
      {file("a", 1)}};
  for (const auto& entries : wrong) {
    StageFiles files;
    files.open({path("there"), path("home")}, {}, env_);
    files.add(entries);
    std::vector<StageWant> wants;
    while (files.problem().empty() && !files.look_some(wants)) {
    }
    if (files.problem().empty()) files.check_room();
    EXPECT_THAT(files.problem(), HasSubstr("hard link"));
  }
}

// ---- sparse files

class SparseFilesTest : public StageNamesTest {
 protected:
  /// A file of zeros, without data.
  void make_sparse(const std::string& name, std::uint64_t size) const {
    write(name, "");
    fs::resize_file(path(name), size);
  }
  void put(const std::string& name, std::uint64_t offset, const std::string& bytes) const {
    std::fstream file(path(name), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  [[nodiscard]] std::uint64_t room(const std::string& name) const {
    return static_cast<std::uint64_t>(look(name).st_blocks) * 512;
  }
};

TEST_F(SparseFilesTest, HolesAreNeitherSentNorWritten) {
  constexpr std::uint64_t kSize = (std::uint64_t{64} << 20) + 7;
  make_sparse("here/a", kSize);
  put("here/a", 5 * kBlock + 3, "data");
  put("here/a", 300 * kBlock, "more");
  make_sparse("here/zeros", 100);
  EXPECT_EQ(stage().bytes, 2 * kBlock);
  EXPECT_TRUE(read("there/a") == read("here/a"));
  EXPECT_TRUE(read("there/zeros") == read("here/zeros"));
  if (room("here/a") < 1U << 20) EXPECT_LE(room("there/a"), 4 * kBlock);
  EXPECT_EQ(stage().bytes, 0U);
}

TEST_F(SparseFilesTest, ZerosInThePlaceOfData) {
  const std::string data(64 * kBlock + 9, 'x');
  write("here/a", data);
  stage();
  make_sparse("here/a", data.size());
  put("here/a", 3 * kBlock, "new");
  EXPECT_EQ(stage().bytes, kBlock);
  EXPECT_TRUE(read("there/a") == read("here/a"));
  if (room("here/a") < 1U << 20) EXPECT_LE(room("there/a"), 4 * kBlock);
}

TEST_F(SparseFilesTest, ZerosInThePlaceOfWhatAnInterruptedStagingHasWritten) {
  make_sparse("here/a", 64 * kBlock + 9);
  put("here/a", 3 * kBlock, "new");
  write("there/" + SyncTree::part_of("a"), std::string(20 * kBlock + 1, 'x'));
  EXPECT_EQ(stage().bytes, kBlock);
  EXPECT_TRUE(read("there/a") == read("here/a"));
  if (room("here/a") < 1U << 20) EXPECT_LE(room("there/a"), 4 * kBlock);
}

TEST_F(SparseFilesTest, HolesStayWhereTheRestIsCopiedOnTheNode) {
  make_sparse("here/a", 640 * kBlock);
  put("here/a", 3 * kBlock, "new");
  stage();
  put("here/a", 600 * kBlock, "changed");
  EXPECT_EQ(stage().bytes, kBlock);
  EXPECT_TRUE(read("there/a") == read("here/a"));
  if (room("here/a") < 1U << 20) EXPECT_LE(room("there/a"), 4 * kBlock);
}

TEST_F(SparseFilesTest, HolesNeedNoRoom) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 50;
  for (const std::uint64_t holes : {std::uint64_t{0}, kSize - kBlock}) {
    StageFiles files;
    files.open({path("there")}, {}, env_);
    files.add({{0, {"a", SyncEntry::Kind::file, 0644, kSize, 1, ""}, "", 0, holes}});
    std::vector<StageWant> wants;
    while (!files.look_some(wants)) {
    }
    files.add({{0, kSize / kBlock}}, {});
    files.check_room();
    EXPECT_EQ(files.problem().empty(), holes > 0) << files.problem();
  }
  make_sparse("here/a", 64U << 20);
  put("here/a", 5 * kBlock + 3, "data");
  make_sparse("here/small", 1000);
  if (room("here/a") > 1U << 20) GTEST_SKIP() << "the file system of /tmp has no holes";
  for (const std::string& one : {path("here"), path("here/a")}) {
    StageSource source({{one, path("there")}}, "");
    while (!source.list_some()) {
    }
    EXPECT_EQ(source.entries()[0].holes, (64U << 20) - kBlock) << one;
  }
}

}  // namespace
}  // namespace dlaunch
