// Proof that a target finds bugs: each is built a second time with DLAUNCH_FUZZ_PLANT, and then has
// a wrong bound behind conditions that only complete parsing reaches. tests/fuzz/run.py requires
// that it is found. The normal builds contain none of it.
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
