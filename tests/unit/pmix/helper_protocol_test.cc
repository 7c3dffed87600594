#include "node/pmix/helper_protocol.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

std::vector<HelperMessage> samples() {
  const std::string binary("a\0b\xff", 4);
  return {
      Setup{kProtocol,
            "dlaunch-1",
            1,
            "/tmp/dlaunch-0/pmix",
            {{"gpu01", {{Rank(0), 4}}}, {"gpu02", {{Rank(4), 3}, {Rank(9), 1}}}}},
      FenceDone{7, -25, binary},
      DataWanted{4294967295U, 3},
      Data{8, -46, binary},
      AbortSeen{9},
      Finish{},
      Ready{"PMIx_server_init: ERROR", {{4, {"PMIX_RANK=4", "EMPTY="}}, {5, {}}}},
      Connected{3},
      Finalized{3},
      Fence{10, 0, {{Rank(0), 2}, {Rank(5), 1}}, binary},
      Aborted{11, 2, -1, "gave up"},
      Refused{1, "MPI_Comm_spawn"},
  };
}

TEST(HelperFrames, EveryMessageComesBackWhereverItsBytesAreCut) {
  ASSERT_EQ(samples().size(), std::variant_size_v<HelperMessage>);
  std::string bytes;
  for (const HelperMessage& message : samples()) bytes += encode(message);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    HelperReader reader;
    std::vector<HelperMessage> seen;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (true) {
        const auto message = reader.next();
        ASSERT_TRUE(message.has_value()) << message.error().message;
        if (!*message) break;
        seen.push_back(**message);
      }
    }
    EXPECT_EQ(seen, samples()) << "in pieces of " << piece;
  }
}

std::string error_of(const std::string& bytes) {
  HelperReader reader;
  reader.feed(bytes);
  const auto message = reader.next();
  return message ? "" : message.error().message;
}

TEST(HelperFrames, WhatIsCutShortInsideIsAnError) {
  for (const HelperMessage& message : samples()) {
    const std::string good = encode(message);
    for (std::size_t size = 5; size < good.size(); ++size) {
      std::string bytes = good.substr(0, size);
      const auto length = static_cast<std::uint32_t>(size - 4);
      for (unsigned i = 0; i < 4; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
      EXPECT_NE(error_of(bytes), "") << message.index() << " cut at " << size;
    }
    std::string longer = good + 'x';
    ++longer[0];
    EXPECT_NE(error_of(longer), "") << message.index();
  }
}

TEST(HelperFrames, LengthsThatLieAllocateNothing) {
  EXPECT_THAT(error_of(std::string("\xff\xff\xff\x7f\x00", 5)), testing::HasSubstr("bytes"));
  EXPECT_THAT(error_of(std::string("\0\0\0\0", 4)), testing::HasSubstr("empty"));
  EXPECT_THAT(error_of(std::string("\x01\0\0\0\x63", 5)), testing::HasSubstr("type 99"));
  // A list (of Ready) that announces 2^32 - 1 items.
  EXPECT_NE(error_of(std::string("\x09\0\0\0\x06\0\0\0\0\xff\xff\xff\xff", 13)), "");
}

}  // namespace
}  // namespace dlaunch::pmix
