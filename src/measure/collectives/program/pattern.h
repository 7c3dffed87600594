// The contents of the buffers of a checked call: numbers computed from position and rank, so that
// every rank knows each element of the result exactly. Pure.
//
// The numbers are small, and few contributions to an element differ from the neutral one. So sums
// and products are exact in every type (bfloat16 holds whole numbers only up to 256) in any order
// of ranks, while each rank determines some elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dlaunch/collectives/types.h"

namespace dlaunch::collectives {

class Pattern {
 public:
  /// `salt`: different for each call, so that the results of an earlier call count as wrong.
  Pattern(DataType type, ReduceOp op, int ranks, std::uint64_t salt);

  /// The contribution of `rank` to a reduction, elements first .. first + count - 1. `out` must
  /// have room for them.
  void give(char* out, int rank, std::uint64_t first, std::size_t count) const;
  /// The result of the reduction over all ranks.
  void reduced(char* out, std::uint64_t first, std::size_t count) const;
  /// What `from` sends to `to` where data is only moved: any bits.
  void moved(char* out, int from, int to, std::uint64_t first, std::size_t count) const;

  /// The number of wrong elements among `count`. Averages of floating-point numbers may be off by
  /// four units in the last place, since NCCL multiplies by 1/n first.
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
