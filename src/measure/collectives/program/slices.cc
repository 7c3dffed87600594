#include "measure/collectives/program/slices.h"

namespace dlaunch::collectives {

using measure::Operation;
using Kind = Slice::Kind;

std::vector<Slice> inputs(const CheckedCall& call) {
  const std::uint64_t count = call.count;
  const auto ranks = static_cast<std::uint64_t>(call.ranks);
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::reduce:
      return {{Kind::given, call.rank, 0, 0, count, 0}};
    case Operation::reduce_scatter:
      return {{Kind::given, call.rank, 0, 0, count * ranks, 0}};
    case Operation::all_gather:
      return {{Kind::moved, call.rank, 0, 0, count, 0}};
    case Operation::broadcast:
      if (call.rank != call.root) return {};
      return {{Kind::moved, call.root, 0, 0, count, 0}};
    case Operation::all_to_all: {
      std::vector<Slice> parts;
      parts.reserve(static_cast<std::size_t>(call.ranks));
      for (int to = 0; to < call.ranks; ++to)
        parts.push_back(
            {Kind::moved, call.rank, to, 0, count, count * static_cast<std::uint64_t>(to)});
      return parts;
    }
    case Operation::send_recv:
      return {{Kind::moved, call.rank, (call.rank + 1) % call.ranks, 0, count, 0}};
    case Operation::barrier:
      break;
  }
  return {};
}

std::vector<Slice> outputs(const CheckedCall& call) {
  const std::uint64_t count = call.count;
  const auto own = static_cast<std::uint64_t>(call.rank);
  std::vector<Slice> parts;
  switch (call.operation) {
    case Operation::all_reduce:
      return {{Kind::reduced, 0, 0, 0, count, 0}};
    case Operation::reduce:
      if (call.rank != call.root) return {};
      return {{Kind::reduced, 0, 0, 0, count, 0}};
    case Operation::reduce_scatter:
      return {{Kind::reduced, 0, 0, own * count, count, 0}};
    case Operation::broadcast:
      return {{Kind::moved, call.root, 0, 0, count, 0}};
    case Operation::all_gather:
    case Operation::all_to_all:
      for (int from = 0; from < call.ranks; ++from) {
        const int to = call.operation == Operation::all_to_all ? call.rank : 0;
        parts.push_back(
            {Kind::moved, from, to, 0, count, count * static_cast<std::uint64_t>(from)});
      }
      return parts;
    case Operation::send_recv:
      return {{Kind::moved, (call.rank + call.ranks - 1) % call.ranks, call.rank, 0, count, 0}};
    case Operation::barrier:
      break;
  }
  return parts;
}

}  // namespace dlaunch::collectives
