// The layout of the buffers of a checked call. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/figures/operation.h"

namespace dlaunch::collectives {

/// One rank's view of a call.
struct CheckedCall {
  measure::Operation operation = measure::Operation::all_reduce;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::uint64_t count = 0;  // as from measure::count_of()
};

/// A run of elements of a buffer, from element `at` on.
struct Slice {
  enum class Kind : std::uint8_t { given, reduced, moved };  // see pattern.h
  Kind kind = Kind::given;
  int from = 0;  // given: the rank; moved: the sender
  int to = 0;    // moved: the receiver
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t at = 0;
  bool operator==(const Slice&) const = default;
};

/// The contents of this rank's send buffer (in a broadcast: of the root's only buffer).
[[nodiscard]] std::vector<Slice> inputs(const CheckedCall& call);
/// The expected contents of its receive buffer.
[[nodiscard]] std::vector<Slice> outputs(const CheckedCall& call);

}  // namespace dlaunch::collectives
