#include <cstdlib>

#include "buffers.h"

void* allocate(std::size_t bytes, bool on_device) {
  return on_device ? nullptr : std::malloc(bytes);
}

void release(void* buffer, bool) {
  std::free(buffer);
}
