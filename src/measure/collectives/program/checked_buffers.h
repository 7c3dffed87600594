// Fills and compares the buffers of a benchmark element by element, in any kind of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "measure/collectives/program/memory.h"
#include "measure/collectives/program/pattern.h"
#include "measure/collectives/program/slices.h"

namespace dlaunch::collectives {

/// Called regularly, since a large buffer takes a while.
using Progress = std::function<void()>;

/// Overwrites the buffer, so that compare() counts as wrong each element that a call does not
/// write.
Status spoil(Memory& memory, char* buffer, std::uint64_t bytes, const Progress& progress);

Status fill(Memory& memory, char* buffer, DataType type, const Pattern& pattern,
            const std::vector<Slice>& slices, const Progress& progress);

/// The number of wrong elements.
Result<std::uint64_t> compare(Memory& memory, const char* buffer, DataType type,
                              const Pattern& pattern, const std::vector<Slice>& slices,
                              const Progress& progress);

}  // namespace dlaunch::collectives
