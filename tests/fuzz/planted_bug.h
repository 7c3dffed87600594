// Proof that a target finds bugs: each has a wrong bound behind conditions that only complete
// parsing reaches. It is linked a second time with the bug switched on, and tests/fuzz/run.py
// requires that it is found.
#pragma once

#include <cstddef>
#include <vector>

namespace dlaunch::fuzz {

/// True in the programs named fuzz_*_planted.
extern const bool kPlanted;

/// Writes `used` bytes into a buffer of `size`, for AddressSanitizer to notice.
inline void fill_buffer(std::size_t size, std::size_t used) {
  std::vector<char> buffer(size);
  volatile char* const bytes = buffer.data();
  for (std::size_t i = 0; i < used; ++i) bytes[i] = 'x';
}

}  // namespace dlaunch::fuzz
