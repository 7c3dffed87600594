#include "collectives/call.h"

#include <array>
#include <limits>
#include <string>

namespace dlaunch::collectives {

namespace {

using Kind = Call::Kind;

constexpr std::size_t kMaxCount = std::numeric_limits<std::int32_t>::max();

Status invalid(const Call& call, const std::string& why) {
  return {Code::invalid_argument, std::string(name_of(call.kind)) + ": " + why};
}

Status check_rank(const Call& call, const char* what, int rank, int size) {
  if (rank >= 0 && rank < size) return {};
  return invalid(call, std::string(what) + " is " + std::to_string(rank) +
                           ", and there are ranks 0 to " + std::to_string(size - 1));
}

bool reads(const Call& call) {
  return call.kind != Kind::barrier && call.kind != Kind::broadcast && call.kind != Kind::receive;
}

bool writes(const Call& call, int rank) {
  if (call.kind == Kind::reduce) return rank == call.root;
  return call.kind != Kind::barrier && call.kind != Kind::send;
}

Status check_ranks(const Call& call, int size) {
  switch (call.kind) {
    case Kind::broadcast:
    case Kind::reduce:
      return check_rank(call, "root", call.root, size);
    case Kind::send:
      return check_rank(call, "the rank to send to", call.to, size);
    case Kind::receive:
      return check_rank(call, "the rank to receive from", call.from, size);
    case Kind::send_receive:
      if (Status status = check_rank(call, "the rank to send to", call.to, size); !status.ok())
        return status;
      return check_rank(call, "the rank to receive from", call.from, size);
    default:
      return {};
  }
}

/// Elements in the larger buffer.
std::size_t elements_of(const Call& call, int size) {
  const bool of_all = call.kind == Kind::all_gather || call.kind == Kind::reduce_scatter ||
                      call.kind == Kind::all_to_all;
  return of_all ? call.count * static_cast<std::size_t>(size) : call.count;
}

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  constexpr std::array<std::string_view, 10> kNames = {
      "barrier",        "broadcast",  "reduce", "all_reduce", "all_gather",
      "reduce_scatter", "all_to_all", "send",   "receive",    "send_receive"};
  return kNames[static_cast<std::size_t>(kind)];
}

Status check(const Call& call, int rank, int size) {
  if (Status status = check_ranks(call, size); !status.ok()) return status;
  if (call.count > kMaxCount || elements_of(call, size) > kMaxCount) {
    return invalid(call, std::to_string(elements_of(call, size)) +
                             " elements; at most 2147483647 in one call");
  }
  if (call.count == 0) return {};
  if (reads(call) && call.send == nullptr) return invalid(call, "the buffer to send is null");
  if (writes(call, rank) && call.receive == nullptr)
    return invalid(call, "the buffer to receive into is null");
  const bool never_in_place = call.kind == Kind::all_to_all || call.kind == Kind::send_receive;
  if (never_in_place && call.send == call.receive)
    return invalid(call, "the two buffers must not be one");
  return {};
}

bool in_place(const Call& call, int rank) noexcept {
  const std::size_t own = static_cast<std::size_t>(rank) * call.count * size_of(call.type);
  switch (call.kind) {
    case Kind::reduce:
    case Kind::all_reduce:
      return call.send == call.receive;
    case Kind::all_gather:
      return call.send == static_cast<const char*>(call.receive) + own;
    case Kind::reduce_scatter:
      return call.receive == static_cast<const char*>(call.send) + own;
    default:
      return false;
  }
}

}  // namespace dlaunch::collectives
