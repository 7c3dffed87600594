// One call of a communicator as a value, checked once for all back-ends.
#ifndef DLAUNCH_COLLECTIVES_CALL_H
#define DLAUNCH_COLLECTIVES_CALL_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dlaunch/collectives/communicator.h"

namespace dlaunch::collectives {

struct Call {
  enum class Kind : std::uint8_t {
    barrier,
    broadcast,
    reduce,
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    send,
    receive,
    send_receive,
  };

  Kind kind = Kind::barrier;
  const void* send = nullptr;
  void* receive = nullptr;  // of a broadcast: the buffer
  std::size_t count = 0;    // of the part of one rank
  DataType type = DataType::uint8;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  int to = 0;
  int from = 0;
  Stream stream = nullptr;
};

std::string_view name_of(Call::Kind kind) noexcept;

/// What is wrong with the caller's words: roots and peers that are not there, counts that are too
/// large, null buffers.
Status check(const Call& call, int rank, int size);

/// Whether the caller's buffers are one, by the call's own rule for "in place".
bool in_place(const Call& call, int rank) noexcept;

}  // namespace dlaunch::collectives

#endif
