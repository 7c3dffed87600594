// What lies where in the buffers of one checked call. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/operation.h"

namespace dlaunch::collectives {

/// One rank's view of a call.
struct CheckedCall {
  measure::Operation operation = measure::Operation::all_reduce;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::uint64_t count = 0;  // as measure::count_of() has it
};

/// A run of elements of a buffer, from element `at` on.
struct Slice {
  enum class Kind : std::uint8_t { given, reduced, moved };  // see pattern.h
  Kind kind = Kind::given;
  int from = 0;  // given: the rank; moved: who sends it
  int to = 0;    // moved: to whom
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t at = 0;
  bool operator==(const Slice&) const = default;
};

/// What this rank puts into its send buffer (of a broadcast: the root, into its only one).
[[nodiscard]] std::vector<Slice> inputs(const CheckedCall& call);
/// What has to be in its receive buffer afterwards.
[[nodiscard]] std::vector<Slice> outputs(const CheckedCall& call);

}  // namespace dlaunch::collectives
