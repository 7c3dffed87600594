#include "wire/framer.h"

#include <gtest/gtest.h>

namespace dlaunch::wire {
namespace {

Frame sample(std::string payload) {
  return Frame{7, 3, 0x1122334455667788, 42, std::move(payload)};
}

std::string bytes_of(const Frame& frame) {
  std::string bytes;
  append_frame(frame, bytes);
  return bytes;
}

// The table in frame.h.
TEST(Framer, HeaderByteByByte) {
  const std::string expected(
      "\2\0\0\0"
      "\7\0"
      "\0\0"
      "\3\0\0\0"
      "\x88\x77\x66\x55\x44\x33\x22\x11"
      "\x2a\0\0\0\0\0\0\0"
      "hi",
      30);
  EXPECT_EQ(bytes_of(sample("hi")), expected);
}

TEST(Framer, FramesComeOutHoweverTheBytesArrive) {
  const std::vector<Frame> frames = {sample("one"), sample(""), sample(std::string(5000, 'x')),
                                     sample("z")};
  std::string bytes;
  for (const Frame& frame : frames) append_frame(frame, bytes);
  for (const std::size_t step : {std::size_t{1}, std::size_t{27}, std::size_t{28}, std::size_t{29},
                                 std::size_t{4096}, bytes.size()}) {
    FrameReader reader;
    std::vector<Frame> seen;
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      reader.feed(std::string_view(bytes).substr(i, step));
      while (true) {
        Result<std::optional<Frame>> next = reader.next();
        ASSERT_TRUE(next.has_value()) << next.error().message;
        if (!*next) break;
        seen.push_back(**next);
      }
    }
    EXPECT_EQ(seen, frames) << step;
  }
}

TEST(Framer, AnEmptyReaderWantsMore) {
  FrameReader reader;
  EXPECT_EQ(reader.next().value(), std::nullopt);
  reader.feed("");
  EXPECT_EQ(reader.next().value(), std::nullopt);
}

TEST(Framer, GivesItsBufferBackOnlyBetweenFrames) {
  FrameReader reader;
  const std::string bytes = bytes_of(sample("one")) + bytes_of(sample("two"));
  reader.feed(bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(reader.next().value(), sample("one"));
  reader.release_if_empty();
  reader.feed(bytes.substr(bytes.size() - 1));
  EXPECT_EQ(reader.next().value(), sample("two"));
  reader.release_if_empty();
  reader.feed(bytes);
  EXPECT_EQ(reader.next().value(), sample("one"));
}

TEST(Framer, TheLargestPayloadPassesAndOneByteMoreDoesNot) {
  FrameReader reader;
  reader.feed(bytes_of(sample(std::string(kMaxPayload, 'x'))));
  EXPECT_EQ(reader.next().value()->payload.size(), kMaxPayload);
  std::string header = bytes_of(sample("")).substr(0, kHeaderSize);
  header[0] = 1;
  header[3] = 1;  // 2^24 + 1
  reader.feed(header);
  const auto refused = reader.next();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().exit_code, exit_code::kNodeLost);
  EXPECT_EQ(refused.error().message,
            "malformed frame: a payload of 16777217 bytes, at most 16777216 are allowed");
}

TEST(Framer, AfterAnErrorItStaysInError) {
  FrameReader reader;
  std::string bad = bytes_of(sample(""));
  bad[6] = 1;
  reader.feed(bad);
  EXPECT_EQ(reader.next().error().message, "malformed frame: reserved bytes are not 0");
  reader.feed(bytes_of(sample("good")));
  EXPECT_EQ(reader.next().error().message, "malformed frame: reserved bytes are not 0");
}

TEST(Framer, WhatAShellSaidInsteadIsQuoted) {
  FrameReader reader;
  reader.feed("bash: line 1: dlaunch: command not found\n");
  const auto refused = reader.next();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("received \"bash: line 1: dlaunch: command not found\""),
            std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace dlaunch::wire
