// Proof that a target finds what is there: each is built a second time with DLAUNCH_FUZZ_PLANT, and
// then holds a wrong bound behind conditions that only whole parsing leads to. tests/fuzz/run.py
// demands that it is found. None of it is in the programs that look for real bugs.
#pragma once

#include <cstddef>
#include <vector>

namespace dlaunch::fuzz {

#ifdef DLAUNCH_FUZZ_PLANT
inline constexpr bool kPlanted = true;
#else
inline constexpr bool kPlanted = false;
#endif

/// Writes `used` bytes into a buffer of `size`, for AddressSanitizer to notice.
inline void fill_buffer(std::size_t size, std::size_t used) {
  std::vector<char> buffer(size);
  volatile char* const bytes = buffer.data();
  for (std::size_t i = 0; i < used; ++i) bytes[i] = 'x';
}

}  // namespace dlaunch::fuzz
