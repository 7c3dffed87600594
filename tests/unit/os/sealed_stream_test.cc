#include "os/sealed_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "os/strong_hash.h"

namespace dlaunch {
namespace {

using Outcome = SealedReceiver::Outcome;

const std::string kKey = "0123456789abcdef0123456789abcdef";

/// What a receiver makes of bytes: the frames, and whether it ended broken.
struct Heard {
  std::vector<std::string> frames;
  bool broken = false;
};
Heard hear(const std::string& bytes, const std::string& key = kKey, std::size_t at_once = 0) {
  SealedReceiver receiver(key, 1000);
  Heard heard;
  const std::size_t step = at_once == 0 ? bytes.size() : at_once;
  for (std::size_t i = 0; i < bytes.size() && !heard.broken; i += step) {
    receiver.feed(std::string_view(bytes).substr(i, step));
    std::string frame;
    Outcome outcome = receiver.next(frame);
    for (; outcome == Outcome::frame; outcome = receiver.next(frame)) heard.frames.push_back(frame);
    heard.broken = outcome == Outcome::broken;
  }
  return heard;
}

struct Sealed {
  Sealed() {
    SealedSender sender(kKey);
    for (const std::string& text : texts) {
      std::string frame;
      sender.seal(text, frame);
      frames.push_back(frame);
      all += frame;
    }
  }
  std::vector<std::string> texts{"", std::string("a\0b", 3), std::string(1000, 'x'), "end"};
  std::vector<std::string> frames;
  std::string all;
};

TEST(SealedStream, FramesArriveHoweverTheyAreCut) {
  const Sealed sealed;
  for (const std::size_t at_once : {0, 1, 7, 500}) {
    const Heard heard = hear(sealed.all, kKey, at_once);
    EXPECT_FALSE(heard.broken);
    EXPECT_EQ(heard.frames, sealed.texts);
  }
}

TEST(SealedStream, NothingCanBeReadFromIt) {
  const Sealed sealed;
  EXPECT_EQ(sealed.all.find("xxxx"), std::string::npos);
  EXPECT_NE(Sealed().all, sealed.all) << "the same text with the same key looks alike";
}

TEST(SealedStream, EveryChangedBitIsNoticed) {
  const Sealed sealed;
  const std::size_t end = sealed.frames[0].size() + sealed.frames[1].size();
  for (std::size_t i = 0; i < end; ++i) {
    std::string bytes = sealed.all.substr(0, end);
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    // A changed length may only make it wait for more; it never hands out other bytes.
    for (const std::string& frame : hear(bytes).frames)
      EXPECT_TRUE(frame == sealed.texts[0] || frame == sealed.texts[1]) << i;
    EXPECT_LT(hear(bytes).frames.size(), 2U) << i;
  }
}

TEST(SealedStream, RepeatedReorderedAndOmittedFramesAreNoticed) {
  const Sealed s;
  EXPECT_TRUE(hear(s.frames[0] + s.frames[1] + s.frames[1]).broken) << "repeated";
  EXPECT_TRUE(hear(s.frames[0] + s.frames[3]).broken) << "omitted";
  EXPECT_TRUE(hear(s.frames[0] + s.frames[2] + s.frames[1]).broken) << "reordered";
  EXPECT_TRUE(hear(s.all, "fedcba9876543210fedcba9876543210").broken) << "another key";
}

TEST(SealedStream, AnAnnouncedSizeIsLimited) {
  std::string bytes(kSealHeaderBytes, 'h');
  bytes += std::string("\xff\xff\xff\x7f", 4);
  EXPECT_TRUE(hear(bytes).broken);
  EXPECT_TRUE(hear(std::string(5000, 'g')).broken) << "garbage";
}

// RFC 7693 and the reference implementation: BLAKE2b-256 of "abc".
TEST(StrongHash, IsBlake2b) {
  StrongHasher hasher;
  hasher.add("a");
  hasher.add("bc");
  const StrongHash hash = hasher.hash();
  const auto* bytes = reinterpret_cast<const unsigned char*>(hash.data());
  EXPECT_EQ(bytes[0], 0xbd);
  EXPECT_EQ(bytes[1], 0xdd);
  EXPECT_EQ(bytes[31], 0x19);
}

}  // namespace
}  // namespace dlaunch
