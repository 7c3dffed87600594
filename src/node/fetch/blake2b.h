// BLAKE2b with 256 bits and no key (RFC 7693), for a program without a C library. The launcher's
// side is os/strong_hash.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/blake2b_tables.h"

namespace dlaunch::fetch {

class Blake2b {
 public:
  Blake2b() { state_[0] ^= 0x01010020; }  // parameters: 32 bytes, no key, sequential mode

  void add(const unsigned char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (filled_ == kBlock) {
        total_ += kBlock;
        compress(0);
        filled_ = 0;
      }
      block_[filled_++] = bytes[i];
    }
  }

  /// Call once, at the end. The first four words are the hash, in the form of StrongHash
  /// (model/stage.h).
  const std::uint64_t* end() {
    total_ += filled_;
    while (filled_ < kBlock) block_[filled_++] = 0;
    compress(~std::uint64_t{0});
    return state_;
  }

 private:
  static constexpr std::size_t kBlock = 128;

  static std::uint64_t turned(std::uint64_t word, unsigned bits) {
    return (word >> bits) | (word << (64 - bits));
  }
  [[nodiscard]] std::uint64_t word(std::size_t number) const {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) value = (value << 8) | block_[number * 8 + i];
    return value;
  }
  static void mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d,
                  std::uint64_t x, std::uint64_t y) {
    a += b + x;
    d = turned(d ^ a, 32);
    c += d;
    b = turned(b ^ c, 24);
    a += b + y;
    d = turned(d ^ a, 16);
    c += d;
    b = turned(b ^ c, 63);
  }

  /// `last`: all bits are set for the last block, none for others.
  void compress(std::uint64_t last) {
    std::uint64_t m[16];
    std::uint64_t v[16];
    for (std::size_t i = 0; i < 16; ++i) m[i] = word(i);
    for (std::size_t i = 0; i < 8; ++i) {
      v[i] = state_[i];
      v[i + 8] = blake2b::kStart[i];
    }
    v[12] ^= total_;
    v[14] ^= last;
    for (std::size_t round = 0; round < 12; ++round) {
      const std::uint8_t* const s = blake2b::kOrder[round % 10];
      for (std::size_t i = 0; i < 4; ++i)
        mix(v[i], v[4 + i], v[8 + i], v[12 + i], m[s[2 * i]], m[s[2 * i + 1]]);
      for (std::size_t i = 0; i < 4; ++i)
        mix(v[i], v[4 + (i + 1) % 4], v[8 + (i + 2) % 4], v[12 + (i + 3) % 4], m[s[8 + 2 * i]],
            m[s[9 + 2 * i]]);
    }
    for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

  // Plain arrays: std::array may call a library function to check an index.
  std::uint64_t state_[8] = {blake2b::kStart[0], blake2b::kStart[1], blake2b::kStart[2],
                             blake2b::kStart[3], blake2b::kStart[4], blake2b::kStart[5],
                             blake2b::kStart[6], blake2b::kStart[7]};
  unsigned char block_[kBlock] = {};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace dlaunch::fetch
