// Memory that the back-end reaches: of the host, or of this rank's GPU.
#pragma once
#include <cstddef>

void* allocate(std::size_t bytes, bool on_device);
void release(void* buffer, bool on_device);

/// Between any memory and the host's; over when they return.
void copy_to(void* buffer, const void* from, std::size_t bytes, bool on_device);
void copy_from(void* to, const void* buffer, std::size_t bytes, bool on_device);
