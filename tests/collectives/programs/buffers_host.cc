#include <cstdlib>
#include <cstring>

#include "buffers.h"

void* allocate(std::size_t bytes, bool on_device) {
  constexpr std::size_t kAlignment = 4096;
  return on_device
             ? nullptr
             : std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

void release(void* buffer, bool) {
  std::free(buffer);
}

void copy_to(void* buffer, const void* from, std::size_t bytes, bool) {
  if (bytes > 0) std::memcpy(buffer, from, bytes);
}

void copy_from(void* to, const void* buffer, std::size_t bytes, bool) {
  if (bytes > 0) std::memcpy(to, buffer, bytes);
}
