#include "os/file_hash.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

/// From Python's hashlib.blake2b, with the parameters of four leaves and of a root; the first row
/// is also the reference implementation's.
TEST(FileHash, IsBlake2bp) {
  const std::vector<std::pair<std::size_t, StrongHash>> rows = {
      {0, {0xbf738801a81efb5, 0x74aeda94b2a88f62, 0xaa0ea843e3ebb192, 0x7bd64d66aef6f1bb}},
      {1, {0x727b75720e2839a1, 0x6ef359bed573643e, 0x5c58d4d75cfc509d, 0x526ca395488009bc}},
      {385, {0x9d6bfdc13e674ba7, 0x6bd4bc3dddd60f10, 0xf246abb73f0c0d97, 0x2d00b986230425a9}},
      {512, {0x5213fbcdbadac461, 0x48b304bc9dae5a18, 0x72aac4b0781468af, 0xafe88317b1bac791}},
      {896, {0xe28e32e55422302, 0xe3fce04ad2837f0b, 0x63242df1f444c8bd, 0x37c27c4ac1e759d3}},
      {897, {0xd541dc8f59aacbd6, 0xde8a33797804f17, 0x4007228c8b8b080, 0xe0aa894c491b9cd3}},
      {1409, {0x362790d0f6b9635f, 0xa70b33d8ae2509a9, 0x7fb885c151979924, 0x73fd3c3ccb57d9ac}},
      {65537, {0xada0bbb4b2ad275b, 0x5fddf64dc8a207ad, 0x7317a95ae65e27d7, 0x20397aff73100d03}},
      {200000, {0x6a4099fc0dbe6d40, 0xef70bc3eba486350, 0x29285b1c923936d9, 0x686e40ac2518ebf7}},
  };
  std::string bytes;
  for (std::size_t i = 0; i < 200'000; ++i) bytes.push_back(static_cast<char>(i % 251));
  for (const auto& [size, hash] : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, std::size_t{512},
                                    std::size_t{1000}, std::size_t{65536}, bytes.size()}) {
      FileHasher hasher;
      for (std::size_t at = 0; at < size; at += piece)
        hasher.add(std::string_view(bytes).substr(0, size).substr(at, piece));
      EXPECT_EQ(hasher.hash(), hash) << size << " bytes in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace dlaunch
