// Memory that the back-end can access: host memory, or this rank's GPU.
#pragma once
#include <cstddef>

void* allocate(std::size_t bytes, bool on_device);
void release(void* buffer, bool on_device);

/// Copies between any memory and host memory; synchronous.
void copy_to(void* buffer, const void* from, std::size_t bytes, bool on_device);
void copy_from(void* to, const void* buffer, std::size_t bytes, bool on_device);
