#include "node/stage/stage_files.h"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "os/content_hash.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t kBlock = sync::kBlockBytes;

std::string content(std::uint64_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (char& c : bytes) {
    seed = seed * 1664525U + 1013904223U;
    c = static_cast<char>(seed >> 24);
  }
  return bytes;
}

class StageFilesTest : public testing::Test {
 protected:
  StageFilesTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-stage-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~StageFilesTest() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& bytes) {
    std::ofstream(folder_ + '/' + path, std::ios::binary) << bytes;
  }
  std::string read(const std::string& path) {
    std::ifstream file(folder_ + '/' + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      found.push_back(fs::relative(entry.path(), folder_).string());
    return found;
  }

  /// A staging of one file "a" with these bytes, as far as comparing.
  struct One {
    std::vector<StageWant> wants;
    StageFiles files;
    std::string bytes;
  };
  void look(One& one, const std::string& bytes) {
    one.bytes = bytes;
    one.files.open({folder_}, {}, {});
    one.files.add({{0, {"a", SyncEntry::Kind::file, 0640, bytes.size(), 1'000'000'000, ""}}});
    while (one.files.problem().empty() && !one.files.look_some(one.wants)) {
    }
  }
  /// Blocks that the hashes it told do not have, as the launcher finds out.
  static std::vector<bool> missing(const One& one) {
    std::vector<std::uint64_t> told;
    for (const StageWant& want : one.wants)
      told.insert(told.end(), want.hashes.begin(), want.hashes.end());
    std::vector<bool> result;
    for (std::uint64_t at = 0; at < one.bytes.size(); at += kBlock) {
      const std::uint64_t i = at / kBlock;
      result.push_back(i >= told.size() || told[i] != block_hash(one.bytes.substr(at, kBlock)));
    }
    return result;
  }
  void send(One& one, const sync::BlockStream& stream, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t position = from; position < to; ++position) {
      const std::uint64_t block = stream.at(position);
      const std::string bytes = one.bytes.substr(block * kBlock, kBlock);
      one.files.take({{block, block_hash(bytes), bytes}});
      while (one.files.write_some()) {
      }
    }
  }
  static StrongHash strong(const std::string& bytes) {
    FileHasher hasher;
    hasher.add(bytes);
    return hasher.hash();
  }
  /// Returns how many blocks it took.
  std::uint64_t stage(const std::string& bytes) {
    One one;
    look(one, bytes);
    EXPECT_EQ(one.files.problem(), "");
    if (one.wants.empty()) return 0;
    const sync::BlockStream stream(missing(one));
    one.files.add(stream.runs(), {});
    one.files.check_room();
    while (!one.files.make_some()) {
    }
    one.files.set_hash(0, strong(bytes));
    send(one, stream, 0, stream.size());
    EXPECT_EQ(one.files.problem(), "");
    EXPECT_TRUE(one.files.is_complete());
    EXPECT_TRUE(read("a") == bytes);
    EXPECT_THAT(names(), testing::ElementsAre("a"));
    return stream.size();
  }

  std::string folder_;
};

TEST_F(StageFilesTest, AFileThatIsNotThere) {
  EXPECT_EQ(stage(content(3 * kBlock + 5, 1)), 4U);
  EXPECT_EQ(stage(content(3 * kBlock + 5, 1)), 0U) << "the same size and time";
}

TEST_F(StageFilesTest, OnlyChangedBlocksAreNeeded) {
  const std::string old = content(40 * kBlock + 5, 1);
  write("a", old);
  std::string changed = old;
  changed[7 * kBlock] = static_cast<char>(changed[7 * kBlock] + 1);
  EXPECT_EQ(stage(changed), 1U);
  write("a", old.substr(0, 20 * kBlock + 17));
  EXPECT_EQ(stage(old), 21U) << "it had the first 20";
  write("a", old + "more");
  EXPECT_EQ(stage(old), 1U) << "it is to be cut";
}

TEST_F(StageFilesTest, GoesOnFromAPart) {
  const std::string bytes = content(10 * kBlock + 5, 3);
  {
    One one;
    look(one, bytes);
    const sync::BlockStream stream(missing(one));
    one.files.add(stream.runs(), {});
    while (!one.files.make_some()) {
    }
    send(one, stream, 0, 6);
    EXPECT_FALSE(fs::exists(folder_ + "/a"));
  }
  EXPECT_EQ(stage(bytes), 5U);
}

TEST_F(StageFilesTest, APartOfTheChangedFileAndTheRestOfTheOldOne) {
  const std::string old = content(10 * kBlock, 1);
  std::string changed = old;
  changed[2 * kBlock] = static_cast<char>(changed[2 * kBlock] + 1);
  changed[8 * kBlock] = static_cast<char>(changed[8 * kBlock] + 1);
  write("a", old);
  {
    One one;
    look(one, changed);
    const sync::BlockStream stream(missing(one));
    ASSERT_EQ(stream.size(), 2U);
    one.files.add(stream.runs(), {});
    while (!one.files.make_some()) {
    }
    send(one, stream, 0, 1);
    EXPECT_EQ(read("a"), old) << "no reader sees the half";
  }
  EXPECT_EQ(stage(changed), 2U) << "the one that changed, and the last one";
}

TEST_F(StageFilesTest, ACompletePartStillBecomesTheFile) {
  const std::string bytes = content(3 * kBlock, 3);
  {
    One one;
    look(one, bytes);
    const sync::BlockStream stream(missing(one));
    one.files.add(stream.runs(), {});
    while (!one.files.make_some()) {
    }
    send(one, stream, 0, 3);
    EXPECT_FALSE(one.files.is_complete()) << "it does not know the hash";
  }
  EXPECT_EQ(stage(bytes), 1U);
}

TEST_F(StageFilesTest, AnotherFileThanTheLaunchersGetsNoName) {
  write("a", "old");
  One one;
  const std::string bytes = content(3 * kBlock, 3);
  look(one, bytes);
  const sync::BlockStream stream(missing(one));
  one.files.add(stream.runs(), {});
  while (!one.files.make_some()) {
  }
  one.files.set_hash(0, strong(bytes + "x"));
  send(one, stream, 0, stream.size());
  EXPECT_THAT(one.files.problem(), HasSubstr("the written file differs from the source"));
  EXPECT_EQ(read("a"), "old");
  EXPECT_THAT(names(), testing::ElementsAre("a")) << "nobody goes on from it";
}

TEST_F(StageFilesTest, WhatComesAsAWholeFromWhoHasTheFilesNeedsNoHash) {
  const std::string bytes = content(3 * kBlock + 5, 3);
  const auto stage_without_hash = [&](const std::string& sent) {
    One one;
    look(one, sent);
    const sync::BlockStream stream(missing(one));
    one.files.add(stream.runs(), {});
    one.files.trust_sender();
    while (!one.files.make_some()) {
    }
    send(one, stream, 0, stream.size());
    EXPECT_EQ(one.files.problem(), "");
    return one.files.is_complete();
  };
  EXPECT_TRUE(stage_without_hash(bytes));
  EXPECT_TRUE(read("a") == bytes);
  std::string changed = bytes;
  changed[kBlock] = static_cast<char>(changed[kBlock] + 1);
  fs::last_write_time(folder_ + "/a", fs::file_time_type::clock::now());
  EXPECT_FALSE(stage_without_hash(changed)) << "most of it was here, perhaps changed since";
  EXPECT_TRUE(read("a") == bytes);
}

TEST_F(StageFilesTest, DamagedAndMisplacedBlocks) {
  const std::string bytes = content(3 * kBlock, 3);
  const std::string block = bytes.substr(0, kBlock);
  const std::pair<sync::Piece, const char*> wrong[] = {
      {{0, block_hash(block) + 1, block}, "damaged"},
      {{1, block_hash(block), block}, "out of order"},
      {{~std::uint64_t{0}, block_hash(block), block}, "out of order"},
      {{0, block_hash("x"), "x"}, "out of order"},
  };
  for (const auto& [piece, what] : wrong) {
    One one;
    look(one, bytes);
    const sync::BlockStream stream(missing(one));
    one.files.add(stream.runs(), {});
    while (!one.files.make_some()) {
    }
    one.files.take({piece});
    while (one.files.write_some()) {
    }
    EXPECT_THAT(one.files.problem(), HasSubstr(what));
    EXPECT_FALSE(fs::exists(folder_ + "/a"));
  }
}

TEST_F(StageFilesTest, TwoDoNotWriteTheSameFile) {
  One first;
  look(first, content(2 * kBlock, 1));
  const sync::BlockStream stream(missing(first));
  first.files.add(stream.runs(), {});
  while (!first.files.make_some()) {
  }
  send(first, stream, 0, 1);
  One second;
  look(second, content(2 * kBlock, 1));
  EXPECT_THAT(second.files.problem(), HasSubstr("another staging writes it"));
}

TEST_F(StageFilesTest, APartThatIsAnotherNameOfAFileIsNotWrittenTo) {
  {
    One one;
    look(one, content(2 * kBlock, 1));
    const sync::BlockStream stream(missing(one));
    one.files.add(stream.runs(), {});
    while (!one.files.make_some()) {
    }
    send(one, stream, 0, 1);
  }
  const std::string part = names().front();
  write("precious", "precious");
  fs::remove(folder_ + '/' + part);
  fs::create_hard_link(folder_ + "/precious", folder_ + '/' + part);
  One one;
  look(one, content(2 * kBlock, 1));
  EXPECT_THAT(one.files.problem(), HasSubstr("Operation not permitted"));
  EXPECT_EQ(read("precious"), "precious");
}

TEST_F(StageFilesTest, PathsThatLeadOut) {
  for (const char* path : {"../x", "/etc/passwd", "a/../../x", "", "a//b"}) {
    StageFiles files;
    files.open({folder_}, {}, {});
    files.add({{0, {path, SyncEntry::Kind::file, 0644, 1, 1, ""}}});
    EXPECT_THAT(files.problem(), HasSubstr("is not a path below what is staged")) << path;
  }
  StageFiles files;
  files.open({folder_}, {}, {});
  files.add({{1, {"a", SyncEntry::Kind::file, 0644, 1, 1, ""}}});
  EXPECT_NE(files.problem(), "") << "there is no second root";
}

TEST_F(StageFilesTest, TheSourceItselfIsNotWritten) {
  const std::string a = content(kBlock + 7, 1);
  write("a", a);
  struct stat before {};
  ASSERT_EQ(::stat((folder_ + "/a").c_str(), &before), 0);
  write(".dlaunch-sync-0", "");
  const StageOrigin origin{"here:" + folder_, folder_ + "/.dlaunch-sync-0"};
  StageFiles files;
  files.open({folder_}, {origin}, {});
  files.add({{0, {"a", SyncEntry::Kind::file, 0600, a.size(), 1, ""}},
             {0, {"new", SyncEntry::Kind::folder, 0755, 0, 0, ""}}});
  std::vector<StageWant> wants;
  while (!files.look_some(wants)) {
  }
  EXPECT_TRUE(wants.empty()) << "though its mode and time are others than announced";
  files.add({{0, 2}}, {});  // other nodes lack it, and this one passes it on
  files.check_room();
  while (!files.make_some()) {
  }
  files.set_hash(0, strong(a));
  files.take({{0, block_hash(a.substr(0, kBlock)), a.substr(0, kBlock)}});
  while (files.write_some()) {
  }
  StageFiles::Reader reader;
  std::string out;
  EXPECT_EQ(files.read(0, reader, out), 0) << "while it is the current file";
  files.take({{1, block_hash(a.substr(kBlock)), a.substr(kBlock)}});
  while (files.write_some()) {
  }
  EXPECT_EQ(files.problem(), "");
  EXPECT_TRUE(files.is_complete());
  while (!files.finish_some()) {
  }
  struct stat after {};
  ASSERT_EQ(::stat((folder_ + "/a").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("a", ".dlaunch-sync-0"));
}

TEST_F(StageFilesTest, ReadsBlocksOfWrittenAndOfFinishedFiles) {
  StageFiles files;
  const std::string a = content(kBlock + 7, 1);
  const std::string b = content(2 * kBlock, 2);
  files.open({folder_}, {}, {});
  files.add({{0, {"a", SyncEntry::Kind::file, 0644, a.size(), 1, ""}},
             {0, {"b", SyncEntry::Kind::file, 0644, b.size(), 1, ""}}});
  std::vector<StageWant> wants;
  while (!files.look_some(wants)) {
  }
  files.add({{0, 4}}, {});
  while (!files.make_some()) {
  }
  files.set_hash(0, strong(a));
  const std::string blocks[] = {a.substr(0, kBlock), a.substr(kBlock), b.substr(0, kBlock)};
  for (std::uint64_t i = 0; i < 3; ++i) files.take({{i, block_hash(blocks[i]), blocks[i]}});
  while (files.write_some()) {
  }
  EXPECT_EQ(files.problem(), "");
  EXPECT_EQ(files.position(), 3U);
  StageFiles::Reader reader;
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::string out;
    EXPECT_EQ(files.read(i, reader, out), 0);
    const auto pieces = sync::read_pieces(out);
    ASSERT_TRUE(pieces);
    EXPECT_THAT(*pieces, testing::ElementsAre(sync::Piece{i, block_hash(blocks[i]), blocks[i]}));
  }
}

}  // namespace
}  // namespace dlaunch
