// Memory that host and back-end both reach.
#pragma once
#include <cstddef>

void* allocate(std::size_t bytes, bool on_device);
void release(void* buffer, bool on_device);
