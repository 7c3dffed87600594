// A program that dlaunch carries, so that every node with dlaunch has the same build of it.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch {

/// `size` bytes of the packed data (LZMA2, see cmake/DlaunchCarried.cmake), after the first `skip`.
struct CarriedProgram {
  std::string_view packed;
  std::size_t skip = 0;
  std::size_t size = 0;  // 0: it could not be built with this dlaunch
};

/// The program with this number in a packed set; `sizes` lists the sizes of all, one per line.
[[nodiscard]] CarriedProgram carried_program(std::string_view packed, std::string_view sizes,
                                             std::size_t number);

}  // namespace dlaunch
