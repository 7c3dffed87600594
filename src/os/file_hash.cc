#include "os/file_hash.h"

#include <algorithm>
#include <cstring>

#include "model/blake2b_tables.h"

namespace dlaunch {

namespace {

// One word of each lane.
using Lanes = std::uint64_t __attribute__((vector_size(32)));

using blake2b::kOrder;
using blake2b::kStart;
constexpr std::uint64_t kLast = ~std::uint64_t{0};

// Parameters: 64 bytes, a tree with four leaves and one root, the place in the tree.
constexpr std::uint64_t kTree = 0x02040040;
constexpr std::uint64_t kLeaf = 0x4000;
constexpr std::uint64_t kRoot = 0x4001;

/// What differs between the blocks of a node of the tree.
template <class Word>
struct Counter {
  Word bytes;      // of the node, with this block
  Word last;       // all bits, or none: this is the node's last block
  Word last_node;  // likewise, and the node is the last one at its depth
};

// Inlined into functions for different processors, hence the attribute.
template <class Word>
[[gnu::always_inline]] inline void mix(Word& a, Word& b, Word& c, Word& d, const Word& x,
                                       const Word& y) {
  a += b + x;
  d ^= a;
  d = (d >> 32) | (d << 32);
  c += d;
  b ^= c;
  b = (b >> 24) | (b << 40);
  a += b + y;
  d ^= a;
  d = (d >> 16) | (d << 48);
  c += d;
  b ^= c;
  b = (b >> 63) | (b << 1);
}

template <class Word>
[[gnu::always_inline]] inline void compress(Word* h, const Word* m, const Counter<Word>& counter) {
  Word v[16];
  for (std::size_t i = 0; i < 8; ++i) {
    v[i] = h[i];
    v[i + 8] = Word{} + kStart[i];
  }
  v[12] ^= counter.bytes;
  v[14] ^= counter.last;
  v[15] ^= counter.last_node;
  for (std::size_t round = 0; round < 12; ++round) {
    const std::uint8_t* const s = kOrder[round % 10];
    mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }
  for (std::size_t i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

/// One block of one node.
void compress_one(std::uint64_t* h, const char* block, const Counter<std::uint64_t>& counter) {
  std::uint64_t m[16];
  std::memcpy(m, block, sizeof m);  // all machines that dlaunch runs on are little-endian
  compress(h, m, counter);
}

using State = std::array<std::array<std::uint64_t, 4>, 8>;

void stripes_narrow(State& state, const char* bytes, std::size_t size, std::uint64_t done) {
  for (std::size_t lane = 0; lane < 4; ++lane) {
    std::uint64_t h[8];
    for (std::size_t i = 0; i < 8; ++i) h[i] = state[i][lane];
    for (std::size_t at = 0; at < size; at += 512)
      compress_one(h, bytes + at + 128 * lane, {done + at / 4 + 128, 0, 0});
    for (std::size_t i = 0; i < 8; ++i) state[i][lane] = h[i];
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void stripes_wide(State& state, const char* bytes, std::size_t size,
                                          std::uint64_t done) {
  Lanes h[8];
  std::memcpy(h, state.data(), sizeof h);
  Counter<Lanes> counter{Lanes{} + done, Lanes{}, Lanes{}};
  for (const char* const end = bytes + size; bytes != end; bytes += 512) {
    Lanes m[16];
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint64_t word[4];
      for (std::size_t lane = 0; lane < 4; ++lane)
        std::memcpy(&word[lane], bytes + 128 * lane + 8 * i, 8);
      m[i] = Lanes{word[0], word[1], word[2], word[3]};
    }
    counter.bytes += 128;
    compress(h, m, counter);
  }
  std::memcpy(state.data(), h, sizeof h);
}
const auto stripes = __builtin_cpu_supports("avx2") ? stripes_wide : stripes_narrow;
#else
const auto stripes = stripes_narrow;
#endif

}  // namespace

FileHasher::FileHasher() {
  for (std::size_t i = 0; i < 8; ++i) state_[i].fill(kStart[i]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    state_[0][lane] ^= kTree;
    state_[1][lane] ^= lane;
    state_[2][lane] ^= kLeaf;
  }
}

void FileHasher::take(const char* bytes, std::size_t size) {
  stripes(state_, bytes, size, done_);
  done_ += size / kLanes;
}

void FileHasher::add(std::string_view bytes) {
  while (!bytes.empty()) {
    if (filled_ == kStripe && bytes.size() > kHeld - kStripe) {
      take(held_.data(), kStripe);
      filled_ = 0;
    }
    if (filled_ == 0 && bytes.size() > kHeld) {
      const std::size_t size = (bytes.size() - (kHeld - kStripe) - 1) / kStripe * kStripe;
      take(bytes.data(), size);
      bytes.remove_prefix(size);
    }
    const std::size_t size =
        std::min(bytes.size(), (filled_ < kStripe ? kStripe : kHeld) - filled_);
    std::memcpy(held_.data() + filled_, bytes.data(), size);
    filled_ += size;
    bytes.remove_prefix(size);
    if (filled_ == kHeld && !bytes.empty()) {
      take(held_.data(), kStripe);
      filled_ -= kStripe;
      std::memmove(held_.data(), held_.data() + kStripe, filled_);
    }
  }
}

StrongHash FileHasher::hash() {
  std::array<char, kLanes * 64> leaves;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::uint64_t h[8];
    for (std::size_t i = 0; i < 8; ++i) h[i] = state_[i][lane];
    std::uint64_t done = done_;
    for (std::size_t at = lane * kBlock;; at += kStripe) {
      const std::size_t size = at < filled_ ? std::min(kBlock, filled_ - at) : 0;
      const bool is_last = at + kStripe >= filled_;
      std::array<char, kBlock> block{};
      std::copy_n(held_.data() + std::min(at, filled_), size, block.data());
      done += size;
      compress_one(h, block.data(),
                   {done, is_last ? kLast : 0, is_last && lane == kLanes - 1 ? kLast : 0});
      if (is_last) break;
    }
    std::memcpy(leaves.data() + lane * sizeof h, h, sizeof h);
  }
  std::array<std::uint64_t, 8> root{};
  std::copy_n(kStart, root.size(), root.begin());
  root[0] ^= kTree;
  root[2] ^= kRoot;
  compress_one(root.data(), leaves.data(), {kBlock, 0, 0});
  compress_one(root.data(), leaves.data() + kBlock, {2 * kBlock, kLast, kLast});
  return {root[0], root[1], root[2], root[3]};
}

}  // namespace dlaunch
