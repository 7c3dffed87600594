// OutputFile with a limit of the file size (setrlimit(2), EFBIG), which simulates a full disk and
// can be lifted again.
#include "node/output/output_file.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using Piece = StoredRanges::Piece;

TEST(StoredRanges, NothingIsStoredAtFirst) {
  const StoredRanges stored;
  EXPECT_EQ(stored.from(0), std::nullopt);
  EXPECT_EQ(stored.total(), 0U);
  EXPECT_EQ(stored.end(), 0U);
}

TEST(StoredRanges, WhatFollowsIsOnePiece) {
  StoredRanges stored;
  stored.add(0, 10, 0);
  stored.add(10, 5, 10);
  stored.add(15, 0, 15);
  EXPECT_EQ(stored.pieces(), 1U);
  EXPECT_EQ(stored.from(4), (Piece{4, 11, 4}));
  EXPECT_EQ(stored.from(15), std::nullopt);
}

TEST(StoredRanges, BehindAGapTheOffsetsDiffer) {
  StoredRanges stored;
  stored.add(0, 10, 0);
  stored.add(30, 10, 17);  // 20 bytes lost, a mark of 7 in the file
  EXPECT_EQ(stored.from(9), (Piece{9, 1, 9}));
  EXPECT_EQ(stored.from(10), (Piece{30, 10, 17}));
  EXPECT_EQ(stored.from(33), (Piece{33, 7, 20}));
  EXPECT_EQ(stored.total(), 20U);
  EXPECT_EQ(stored.end(), 40U);
}

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_NE(::mkdtemp(folder_), nullptr);
  }
  ~OutputFileTest() override {
    limit(RLIM_INFINITY);
    std::filesystem::remove_all(folder_);
  }

  static void limit(rlim_t bytes) {
    rlimit now{};
    ::getrlimit(RLIMIT_FSIZE, &now);
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }

  [[nodiscard]] std::string path() const { return std::string(folder_) + "/rank-0.out"; }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  char folder_[32] = "/tmp/output-file-XXXXXX";
  MonotonicTime now_{milliseconds(1000)};
};

TEST_F(OutputFileTest, IsMadeWithTheFirstBytes) {
  OutputFile file(path());
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(file.append("one\n", now_), 0);
  EXPECT_EQ(file.append("two", now_), 0);
  file.close();
  EXPECT_EQ(content(), "one\ntwo");
  EXPECT_EQ(file.lost(), 0U);
}

TEST_F(OutputFileTest, AGapIsMarkedAsSoonAsThereIsRoom) {
  OutputFile file(path());
  limit(6);
  EXPECT_EQ(file.append("one\ntwo\n", now_), EFBIG);
  EXPECT_EQ(file.append("three\n", now_), 0) << "said once";
  EXPECT_EQ(file.lost(), 8U);
  limit(RLIM_INFINITY);
  EXPECT_EQ(file.append("four\n", now_ + milliseconds(999)), 0);
  EXPECT_EQ(file.lost(), 13U) << "a full disk is not tried at every write";
  EXPECT_EQ(file.append("five\n", now_ + milliseconds(1001)), 0);
  file.close();
  EXPECT_EQ(content(), "one\ntw\n[... 13 bytes lost: File too large]\nfive\n");
  EXPECT_EQ(file.lost(), 13U);
}

TEST_F(OutputFileTest, WhatIsBehindAGapIsFound) {
  OutputFile file(path());
  limit(4);
  EXPECT_EQ(file.append("one\ntwo\n", now_), EFBIG);
  limit(RLIM_INFINITY);
  EXPECT_EQ(file.append("three\n", now_ + milliseconds(1001)), 0);
  const auto piece = file.stored().from(5);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->begin, 8U);
  char bytes[16];
  EXPECT_EQ(std::string(bytes, file.read(*piece, bytes, sizeof bytes)), "three\n");
}

TEST_F(OutputFileTest, HalfAMarkIsNotLeft) {
  OutputFile file(path());
  limit(4);
  EXPECT_EQ(file.append("one\ntwo\n", now_), EFBIG);
  limit(20);  // room for a part of the mark
  EXPECT_EQ(file.append("three\n", now_ + milliseconds(1001)), 0);
  EXPECT_EQ(content(), "one\n");
  limit(RLIM_INFINITY);
  file.close();
  EXPECT_EQ(content(), "one\n[... 10 bytes lost: File too large]\n");
}

TEST_F(OutputFileTest, EachMarkTellsItsOwnGap) {
  OutputFile file(path());
  limit(4);
  EXPECT_EQ(file.append("one\ntwo\n", now_), EFBIG);
  limit(4 + 35);  // room for the mark and for nothing behind it
  EXPECT_EQ(file.append("three\n", now_ + milliseconds(1001)), 0);
  limit(RLIM_INFINITY);
  file.close();
  EXPECT_EQ(content(),
            "one\n[... 4 bytes lost: File too large]\n[... 6 bytes lost: File too large]\n");
}

TEST_F(OutputFileTest, TakesFromAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  OutputFile file(path());
  ASSERT_EQ(::write(writer.get(), "two\nthree", 9), 9);
  EXPECT_EQ(file.take(reader.get(), 4), 0U) << "there is no file yet";
  EXPECT_EQ(file.append("one\n", now_), 0);
  EXPECT_EQ(file.take(reader.get(), 4), 4U);
  limit(10);
  EXPECT_EQ(file.take(reader.get(), 100), 2U);
  EXPECT_EQ(file.take(reader.get(), 100), 0U) << "append() finds out why";
  EXPECT_EQ(file.append("ree", now_), EFBIG);
  limit(RLIM_INFINITY);
  file.close();
  EXPECT_EQ(content(), "one\ntwo\nth\n[... 3 bytes lost: File too large]\n");
  EXPECT_EQ(file.stored().from(0), (StoredRanges::Piece{0, 10, 0}));
}

TEST_F(OutputFileTest, WithoutAFolderAllIsLost) {
  OutputFile file("");
  EXPECT_EQ(file.append("one\n", now_), ENOENT);
  file.close();
  EXPECT_EQ(file.lost(), 4U);
}

}  // namespace
}  // namespace dlaunch
