// BLAKE2b with 256 bits and no key (RFC 7693), for a program without a C library. The launcher's
// side is os/strong_hash.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlaunch::fetch {

class Blake2b {
 public:
  Blake2b() { state_[0] ^= 0x01010020; }  // parameters: 32 bytes, no key, a plain sequence

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
  static constexpr std::uint64_t kStart[8] = {
      0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
      0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
  static constexpr unsigned char kOrder[10][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
      {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
      {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
      {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
      {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
      {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

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
      v[i + 8] = kStart[i];
    }
    v[12] ^= total_;
    v[14] ^= last;
    for (std::size_t round = 0; round < 12; ++round) {
      const unsigned char* const s = kOrder[round % 10];
      for (std::size_t i = 0; i < 4; ++i)
        mix(v[i], v[4 + i], v[8 + i], v[12 + i], m[s[2 * i]], m[s[2 * i + 1]]);
      for (std::size_t i = 0; i < 4; ++i)
        mix(v[i], v[4 + (i + 1) % 4], v[8 + (i + 2) % 4], v[12 + (i + 3) % 4], m[s[8 + 2 * i]],
            m[s[9 + 2 * i]]);
    }
    for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

  // Plain arrays: std::array may call a library function to check an index.
  std::uint64_t state_[8] = {kStart[0], kStart[1], kStart[2], kStart[3],
                             kStart[4], kStart[5], kStart[6], kStart[7]};
  unsigned char block_[kBlock] = {};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace dlaunch::fetch
