// The running program as a file that can be sent to a node.
#pragma once

#include <cstddef>
#include <string_view>

#include "model/result.h"

namespace dlaunch {

/// Mapped once; pages are read on demand. Works even if the file was replaced or deleted meanwhile
/// (/proc/self/exe, proc(5)).
class OwnBinary {
 public:
  OwnBinary() = default;
  ~OwnBinary();
  OwnBinary(const OwnBinary&) = delete;
  OwnBinary& operator=(const OwnBinary&) = delete;

  /// Valid as long as this object.
  [[nodiscard]] Result<std::string_view> bytes();

 private:
  void* mapped_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dlaunch
