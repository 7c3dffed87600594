// The buffers of a benchmark: filled and compared element by element, wherever they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/program/memory.h"
#include "collectives/program/pattern.h"
#include "collectives/program/slices.h"

namespace dlaunch::collectives {

/// Called now and then: a large buffer takes a while.
using Progress = std::function<void()>;

/// Bytes that no checked call leaves untouched.
Status spoil(Memory& memory, char* buffer, std::uint64_t bytes, const Progress& progress);

Status fill(Memory& memory, char* buffer, DataType type, const Pattern& pattern,
            const std::vector<Slice>& slices, const Progress& progress);

/// How many elements are wrong.
Result<std::uint64_t> compare(Memory& memory, const char* buffer, DataType type,
                              const Pattern& pattern, const std::vector<Slice>& slices,
                              const Progress& progress);

}  // namespace dlaunch::collectives
