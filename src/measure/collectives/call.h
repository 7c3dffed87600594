// One call of a communicator as a value, checked once for all back-ends.
#ifndef DLAUNCH_COLLECTIVES_CALL_H
#define DLAUNCH_COLLECTIVES_CALL_H

#include <cstddef>
#include <cstdint>
#include <limits>
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
  void* receive = nullptr;  // for a broadcast: its only buffer
  std::size_t count = 0;    // elements of one rank's part
  DataType type = DataType::uint8;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  int to = 0;
  int from = 0;
  Stream stream = nullptr;
};

std::string_view name_of(Call::Kind kind) noexcept;

// Checks must cost little in a call of 100 ns: valid calls pass inline code, where the compiler
// knows the kind; messages are composed only for invalid ones.

constexpr std::size_t kKinds = 10;
/// The limit for a library without one: elements whose bytes fit a std::size_t, whatever their
/// type.
constexpr std::size_t kMostElements =
    std::numeric_limits<std::size_t>::max() / size_of(DataType::float64);

/// Whether a buffer consists of a part for each rank.
constexpr bool is_of_all(Call::Kind kind) noexcept {
  return kind == Call::Kind::all_gather || kind == Call::Kind::reduce_scatter ||
         kind == Call::Kind::all_to_all;
}

/// Whether the larger buffer has more than `most` elements.
constexpr bool is_too_large(const Call& call, int size, std::size_t most) noexcept {
  std::size_t elements = call.count;
  const bool overflows =
      is_of_all(call.kind) &&
      __builtin_mul_overflow(call.count, static_cast<std::size_t>(size), &elements);
  return overflows || elements > most;
}

constexpr bool reads(const Call& call) noexcept {
  return call.kind != Call::Kind::barrier && call.kind != Call::Kind::broadcast &&
         call.kind != Call::Kind::receive;
}

constexpr bool writes(const Call& call, int rank) noexcept {
  if (call.kind == Call::Kind::reduce) return rank == call.root;
  return call.kind != Call::Kind::barrier && call.kind != Call::Kind::send;
}

constexpr bool is_never_in_place(Call::Kind kind) noexcept {
  return kind == Call::Kind::all_to_all || kind == Call::Kind::send_receive;
}

constexpr bool has_its_ranks(const Call& call, int size) noexcept {
  const auto is_one = [size](int rank) { return rank >= 0 && rank < size; };
  switch (call.kind) {
    case Call::Kind::broadcast:
    case Call::Kind::reduce:
      return is_one(call.root);
    case Call::Kind::send:
      return is_one(call.to);
    case Call::Kind::receive:
      return is_one(call.from);
    case Call::Kind::send_receive:
      return is_one(call.to) && is_one(call.from);
    default:
      return true;
  }
}

/// `most`: the largest number of elements that the back-end takes in one buffer.
constexpr bool is_right(const Call& call, int rank, int size, std::size_t most) noexcept {
  if (!has_its_ranks(call, size) || is_too_large(call, size, most)) return false;
  if (call.count == 0) return true;
  if ((reads(call) && call.send == nullptr) || (writes(call, rank) && call.receive == nullptr))
    return false;
  return !is_never_in_place(call.kind) || call.send != call.receive;
}

/// The error of an invalid call: a root or peer outside the world, a count that is too large, a
/// null buffer.
Status what_is_wrong(const Call& call, int rank, int size, std::size_t most);

/// Code::invalid_argument, with the call's name.
inline Status check(const Call& call, int rank, int size, std::size_t most) {
  return is_right(call, rank, size, most) ? Status() : what_is_wrong(call, rank, size, most);
}

/// Whether the call is in place, by the rule of its kind. `kind`: that of the call, as a separate
/// parameter so that it can be a compile-time constant.
inline bool in_place(const Call& call, Call::Kind kind, int rank) noexcept {
  switch (kind) {
    case Call::Kind::reduce:
    case Call::Kind::all_reduce:
      return call.send == call.receive;
    case Call::Kind::all_gather:
      return call.send == static_cast<const char*>(call.receive) +
                              static_cast<std::size_t>(rank) * call.count * size_of(call.type);
    case Call::Kind::reduce_scatter:
      return call.receive == static_cast<const char*>(call.send) +
                                 static_cast<std::size_t>(rank) * call.count * size_of(call.type);
    default:
      return false;
  }
}

inline bool in_place(const Call& call, int rank) noexcept {
  return in_place(call, call.kind, rank);
}

}  // namespace dlaunch::collectives

#endif
