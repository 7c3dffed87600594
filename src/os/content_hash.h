// The hash that both ends of a sync use to compare file contents: XXH3 with 128 bits. Not
// cryptographic: collisions can be constructed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "model/sync.h"

namespace dlaunch {

class ContentHasher {
 public:
  ContentHasher();
  ~ContentHasher();
  ContentHasher(ContentHasher&&) noexcept;
  ContentHasher& operator=(ContentHasher&&) noexcept;

  void add(std::string_view bytes);
  [[nodiscard]] ContentHash hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// 32 hexadecimal digits.
[[nodiscard]] std::string hex_text(const ContentHash& hash);

/// XXH3, 64 bits, of a block of a file.
[[nodiscard]] std::uint64_t block_hash(std::string_view bytes);

}  // namespace dlaunch
