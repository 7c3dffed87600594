// The hash that a node uses to verify that a staged file is the launcher's: BLAKE2bp
// (https://blake2.net/blake2.pdf, 2.10), the first 256 of 512 bits. It is BLAKE2b in four lanes,
// which one core computes at the same time: 2.5 times as fast as libsodium's BLAKE2b.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/stage.h"

namespace dlaunch {

class FileHasher {
 public:
  FileHasher();
  void add(std::string_view bytes);
  /// Call once, at the end.
  [[nodiscard]] StrongHash hash();

 private:
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kBlock = 128;
  static constexpr std::size_t kStripe = kLanes * kBlock;  // a block of each lane
  // Which block of a lane is its last is known only at the end, so at least one byte of each lane
  // is held back.
  static constexpr std::size_t kHeld = kStripe + (kLanes - 1) * kBlock;

  void take(const char* bytes, std::size_t size);

  std::array<std::array<std::uint64_t, kLanes>, 8> state_;
  std::uint64_t done_ = 0;  // bytes in each lane
  std::array<char, kHeld> held_;
  std::size_t filled_ = 0;
};

}  // namespace dlaunch
