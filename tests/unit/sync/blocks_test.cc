#include "sync/blocks.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <numeric>

#include "sync/pieces.h"

namespace dlaunch::sync {
namespace {

BlockMap map_of(const std::vector<std::uint64_t>& sizes) {
  BlockMap map;
  for (const std::uint64_t size : sizes) map.add(size);
  return map;
}

TEST(BlockMap, NumbersBlocksOverAllEntries) {
  const BlockMap map = map_of({0, 1, kBlockBytes, 0, 2 * kBlockBytes + 5, 0});
  EXPECT_EQ(map.total(), 5U);
  EXPECT_EQ(map.place_of(0), (BlockMap::Place{1, 0, 1}));
  EXPECT_EQ(map.place_of(1), (BlockMap::Place{2, 0, kBlockBytes}));
  EXPECT_EQ(map.place_of(2), (BlockMap::Place{4, 0, kBlockBytes}));
  EXPECT_EQ(map.place_of(4), (BlockMap::Place{4, 2 * kBlockBytes, 5}));
  EXPECT_EQ(map.first_of(4), 2U);
  EXPECT_EQ(map.end_of(4), 5U);
  EXPECT_EQ(map.first_of(3), map.end_of(3)) << "an entry without content has none";
}

TEST(BlockMap, BlocksOfAnEntryAreItsBytesInOrder) {
  const bool passed = rc::check("blocks cover each file once", [] {
    const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(
        rc::gen::inRange<std::uint64_t>(0, 5 * kBlockBytes));
    const BlockMap map = map_of(sizes);
    std::vector<std::uint64_t> done(sizes.size());
    for (std::uint64_t block = 0; block < map.total(); ++block) {
      const auto place = map.place_of(block);
      RC_ASSERT(place.size > 0U && place.size <= kBlockBytes);
      RC_ASSERT(place.offset == done[place.entry]);
      done[place.entry] += place.size;
    }
    RC_ASSERT(done == sizes);
  });
  EXPECT_TRUE(passed);
}

TEST(BlockStream, SendsWhatIsMissingInOrder) {
  const bool passed = rc::check("positions and blocks", [] {
    const auto missing = *rc::gen::arbitrary<std::vector<bool>>();
    const BlockStream stream(missing);
    BlockStream heard;
    for (const BlockRun& run : stream.runs()) RC_ASSERT(heard.add(run, missing.size()));
    std::uint64_t position = 0;
    for (std::uint64_t block = 0; block < missing.size(); ++block) {
      if (missing[block]) RC_ASSERT(heard.at(position++) == block);
    }
    RC_ASSERT(heard.size() == position && stream.size() == position);
  });
  EXPECT_TRUE(passed);
}

TEST(BlockStream, KnowsWhatItHasAsAWhole) {
  const BlockStream stream({false, true, true, true, false, true, true});
  EXPECT_TRUE(stream.has(1, 4));
  EXPECT_TRUE(stream.has(2, 3));
  EXPECT_TRUE(stream.has(5, 7));
  EXPECT_FALSE(stream.has(0, 2));
  EXPECT_FALSE(stream.has(3, 5));
  EXPECT_FALSE(stream.has(3, 6));
  EXPECT_FALSE(stream.has(4, 5));
  EXPECT_FALSE(stream.has(6, 8));
  EXPECT_FALSE(BlockStream().has(0, 1));
}

TEST(BlockStream, RefusesRunsThatAreNone) {
  BlockStream stream;
  EXPECT_FALSE(stream.add({0, 0}, 10));
  EXPECT_FALSE(stream.add({10, 1}, 10));
  EXPECT_FALSE(stream.add({5, ~std::uint64_t{0}}, 10)) << "its end is no number";
  EXPECT_TRUE(stream.add({3, 2}, 10));
  EXPECT_FALSE(stream.add({4, 2}, 10)) << "4 would come twice";
  EXPECT_FALSE(stream.add({0, 1}, 10));
  EXPECT_TRUE(stream.add({9, 1}, 10));
}

TEST(Pieces, AreReadAsTheyWereWritten) {
  const std::string block(kBlockBytes, 'b');
  std::string bytes;
  append_piece({7, 8, std::string_view("a\0b", 3)}, bytes);
  append_piece({~std::uint64_t{0}, ~std::uint64_t{0}, block}, bytes);
  const auto pieces = read_pieces(bytes);
  ASSERT_TRUE(pieces);
  EXPECT_THAT(*pieces, testing::ElementsAre(Piece{7, 8, std::string_view("a\0b", 3)},
                                            Piece{~std::uint64_t{0}, ~std::uint64_t{0}, block}));
  EXPECT_EQ(read_pieces("")->size(), 0U);
}

TEST(Pieces, ZerosHaveNoBytes) {
  std::string bytes;
  append_piece({1, 2, std::string(kBlockBytes, '\0')}, bytes);
  append_piece({2, 3, std::string(1, '\0')}, bytes);
  EXPECT_EQ(bytes.size(), 2 * kPieceHeader);
  EXPECT_THAT(*read_pieces(bytes), testing::ElementsAre(Piece{1, 2, ""}, Piece{2, 3, ""}));
  for (const std::size_t at : {std::size_t{0}, kBlockBytes - 1}) {
    std::string block(kBlockBytes, '\0');
    block[at] = 'x';
    EXPECT_FALSE(is_zeros(block)) << at;
  }
}

TEST(Pieces, AreRefusedWhole) {
  std::string bytes;
  append_piece({1, 2, "abc"}, bytes);
  for (std::size_t size = 1; size < bytes.size(); ++size)
    EXPECT_FALSE(read_pieces(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(read_pieces(bytes + "x"));
  std::string large;
  append_piece({1, 2, std::string(kBlockBytes + 1, 'x')}, large);
  EXPECT_FALSE(read_pieces(large));
}

}  // namespace
}  // namespace dlaunch::sync
