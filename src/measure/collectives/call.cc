#include "measure/collectives/call.h"

#include <array>
#include <string>

namespace dlaunch::collectives {

namespace {

using Kind = Call::Kind;

Status invalid(const Call& call, const std::string& why) {
  return {Code::invalid_argument, std::string(name_of(call.kind)) + ": " + why};
}

Status check_rank(const Call& call, const char* what, int rank, int size) {
  if (rank >= 0 && rank < size) return {};
  return invalid(call, std::string(what) + " is " + std::to_string(rank) +
                           ", but the ranks are 0 to " + std::to_string(size - 1));
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

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  static constexpr std::array<std::string_view, kKinds> kNames = {
      "barrier",        "broadcast",  "reduce", "all_reduce", "all_gather",
      "reduce_scatter", "all_to_all", "send",   "receive",    "send_receive"};
  return kNames[static_cast<std::size_t>(kind)];
}

Status what_is_wrong(const Call& call, int rank, int size, std::size_t most) {
  if (Status status = check_ranks(call, size); !status.ok()) return status;
  if (is_too_large(call, size, most)) {
    const std::string each =
        is_of_all(call.kind) ? " for each of " + std::to_string(size) + " ranks" : "";
    return invalid(call, std::to_string(call.count) + " elements" + each +
                             "; this back-end takes at most " + std::to_string(most) +
                             " in one call");
  }
  if (call.count == 0) return {};
  if (reads(call) && call.send == nullptr) return invalid(call, "the buffer to send is null");
  if (writes(call, rank) && call.receive == nullptr)
    return invalid(call, "the buffer to receive into is null");
  if (is_never_in_place(call.kind) && call.send == call.receive)
    return invalid(call, "the two buffers must differ");
  return {};
}

}  // namespace dlaunch::collectives
