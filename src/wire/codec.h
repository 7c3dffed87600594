// Messages to frames and back. Control messages are CBOR maps from field names to values,
// OutputData and StdinData a few raw bytes and then the stream's; docs/wire-protocol.md describes
// every field. Thread-safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.h"
#include "wire/frame.h"
#include "wire/message.h"

namespace dlaunch::wire {

/// Type and payload of the frame; node, session and sequence are the sender's to fill in. Variable
/// names must be free of '=' and not empty, and no string may contain a NUL byte, as exec(3)
/// demands anyway: the receiver refuses such a message. Bytes of OutputData and StdinData are free.
[[nodiscard]] Frame encode(const Message& message);

/// Any bytes are allowed as input. Errors: exit_code::kNodeLost and, for example, `malformed
/// RankExited message: field "rank": expected an unsigned number`. Unknown fields are ignored. A
/// Hello of another protocol version is decoded as far as protocol and build_id, so that both can
/// be named.
[[nodiscard]] Result<Message> decode(const Frame& frame);

/// OutputData whose bytes are somewhere else: there is much of it, and it is not to be copied.
struct OutputView {
  Attempt attempt;
  Rank rank;
  Stream stream = Stream::out;
  std::uint64_t offset = 0;
  std::string_view bytes;
};
[[nodiscard]] bool is_output(std::uint16_t type);
/// As decode(). The bytes are those of the frame's payload.
[[nodiscard]] Result<OutputView> decode_output(const FrameView& frame);
/// Appends all that comes before the bytes in the frame.
void append_output_header(const OutputView& output, std::uint32_t node, std::uint64_t session,
                          std::string& out);

/// False for Ack, Heartbeat, OutputData and Resume, which carry no sequence number.
[[nodiscard]] bool is_sequenced(std::uint16_t type);
[[nodiscard]] bool is_resume(std::uint16_t type);

/// "RankExited"; "unknown" for a number that no message has.
[[nodiscard]] const char* type_name(std::uint16_t type);

}  // namespace dlaunch::wire
