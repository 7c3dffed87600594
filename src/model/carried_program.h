// A program that dlaunch carries, so that it is on every node on which dlaunch is, of the same
// build.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch {

/// `size` bytes of what is packed (by zstd), behind the first `skip`.
struct CarriedProgram {
  std::string_view packed;
  std::size_t skip = 0;
  std::size_t size = 0;  // 0: it could not be built with this dlaunch
};

/// The one with this number of those that are packed together; `sizes`: of all, a line each.
[[nodiscard]] CarriedProgram carried_program(std::string_view packed, std::string_view sizes,
                                             std::size_t number);

}  // namespace dlaunch
