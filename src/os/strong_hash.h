// The hash that a node uses to verify that a program is the launcher's: BLAKE2b, 256 bits
// (libsodium).
#pragma once

#include <memory>
#include <string_view>

#include "model/stage.h"

namespace dlaunch {

class StrongHasher {
 public:
  StrongHasher();
  ~StrongHasher();
  StrongHasher(StrongHasher&&) noexcept;
  StrongHasher& operator=(StrongHasher&&) noexcept;

  void add(std::string_view bytes);
  /// Call once, at the end.
  [[nodiscard]] StrongHash hash();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlaunch
