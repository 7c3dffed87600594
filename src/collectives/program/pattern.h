// What the buffers of a checked call hold: numbers that follow from place and rank, so that every
// element that comes out is known exactly without asking anybody. Pure.
//
// The numbers are small and few of an element's contributions differ from the neutral one, so sums
// and products are exact in every type (bfloat16 holds whole numbers up to 256 only) in any order
// of the ranks, while each rank decides about some elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dlaunch/collectives/types.h"

namespace dlaunch::collectives {

class Pattern {
 public:
  /// `salt`: another one for each call, so that what an earlier one has left is seen as wrong.
  Pattern(DataType type, ReduceOp op, int ranks, std::uint64_t salt);

  /// What `rank` gives to a reduction, elements first .. first + count - 1. `out` has room for
  /// them.
  void give(char* out, int rank, std::uint64_t first, std::size_t count) const;
  /// What the reduction of all ranks makes of them.
  void reduced(char* out, std::uint64_t first, std::size_t count) const;
  /// What `from` sends to `to`, to be moved only: any bits.
  void moved(char* out, int from, int to, std::uint64_t first, std::size_t count) const;

  /// How many of `count` elements are not as expected. Averages of floating-point numbers may be
  /// off by four units in the last place: NCCL multiplies by 1/n first.
  [[nodiscard]] std::uint64_t wrong(const char* got, const char* expected, std::size_t count,
                                    bool is_reduced) const;

 private:
  static constexpr std::size_t kValues = 128;

  [[nodiscard]] unsigned given(std::uint64_t hash, unsigned rank) const;
  [[nodiscard]] unsigned total(std::uint64_t hash) const;
  [[nodiscard]] std::uint64_t hash(std::uint64_t index) const;

  DataType type_;
  ReduceOp op_;
  unsigned ranks_;
  std::uint64_t salt_;
  unsigned scale_ = 1;                            // of the owner's number, for averages
  std::array<std::uint64_t, kValues> bits_{};     // of the whole numbers
  std::array<std::uint64_t, kValues> results_{};  // of a total: itself, or the average
};

}  // namespace dlaunch::collectives
