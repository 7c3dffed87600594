#include "runs/rank_stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "model/rank_list.h"

namespace dlaunch {
namespace {

class RankStreamTest : public testing::Test {
 protected:
  RankStreamTest() {
    char name[] = "/tmp/dlaunch-stream-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~RankStreamTest() override { std::filesystem::remove_all(folder_); }

  void append(const std::string& text) const {
    std::ofstream(folder_ + "/rank-3.out", std::ios::app | std::ios::binary) << text;
  }
  static std::string all(RankStream& stream) {
    std::string text;
    for (;;) {
      const auto bytes = stream.next();
      EXPECT_TRUE(bytes);
      if (!bytes || bytes->empty()) return text;
      text += *bytes;
    }
  }
  std::string tail(std::uint32_t lines) const {
    RankStream stream(folder_, Rank(3), Stream::out);
    EXPECT_TRUE(stream.skip_to_last(lines));
    return all(stream);
  }

  std::string folder_;
};

TEST_F(RankStreamTest, GoesOnWhereItWas) {
  RankStream stream(folder_, Rank(3), Stream::out);
  EXPECT_EQ(all(stream), "");  // the rank has written nothing yet
  append(std::string("a\0b", 3));
  EXPECT_EQ(all(stream), std::string("a\0b", 3));
  EXPECT_EQ(all(stream), "");
  append(std::string(1'000'000, 'x'));
  EXPECT_EQ(all(stream), std::string(1'000'000, 'x'));
}

TEST_F(RankStreamTest, TailCountsLines) {
  EXPECT_EQ(tail(2), "");
  append("one\ntwo\n\nfour\n");
  EXPECT_EQ(tail(0), "");
  EXPECT_EQ(tail(1), "four\n");
  EXPECT_EQ(tail(2), "\nfour\n");
  EXPECT_EQ(tail(4), "one\ntwo\n\nfour\n");
  EXPECT_EQ(tail(400), "one\ntwo\n\nfour\n");
  append("part");
  EXPECT_EQ(tail(1), "part");
  EXPECT_EQ(tail(2), "four\npart");
}

TEST_F(RankStreamTest, TailOfLongLinesOverSeveralPieces) {
  const std::string longest(700'000, 'y');
  append("first\n" + longest + "\nlast\n");
  EXPECT_EQ(tail(2), longest + "\nlast\n");
  EXPECT_EQ(tail(3), "first\n" + longest + "\nlast\n");
}

TEST(ParseRanks, TakesNumbersAndRanges) {
  using Ranks = std::vector<std::uint32_t>;
  EXPECT_EQ(parse_ranks("3", 8).value_or(Ranks{}), (Ranks{3}));
  EXPECT_EQ(parse_ranks("5,0-2,1", 8).value_or(Ranks{}), (Ranks{0, 1, 2, 5}));
  for (const char* text : {"", "x", "1,", ",1", "3-1", "-1", "1-", "1 2", "99999999999"})
    EXPECT_FALSE(parse_ranks(text, 8)) << text;
  EXPECT_NE(parse_ranks("8", 8).error().message.find("ranks 0 to 7"), std::string::npos);
  EXPECT_NE(parse_ranks("0-4000000000", 1).error().message.find("rank 0 only"), std::string::npos);
}

}  // namespace
}  // namespace dlaunch
