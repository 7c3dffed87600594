// Messages to frames and back. Control messages are CBOR maps from field names to values. Raw
// messages, such as OutputData, are a few fixed bytes followed by the data.
// docs/internals/wire-protocol.md describes every field. Thread-safety: free functions without
// state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "model/result.h"
#include "wire/frame.h"
#include "wire/message.h"

namespace dlaunch::wire {

/// Number of message types; the types are 1 to kTypes.
inline constexpr std::uint16_t kTypes = 96;

[[nodiscard]] Frame encode_message(const ToAgent& message);
[[nodiscard]] Frame encode_message(const FromAgent& message);
[[nodiscard]] Frame encode_message(const ChannelMessage& message);

/// A message or one of the variants that carry messages. Restricted to these types because other
/// overloads of encode() take variants that contain a message.
template <class T>
concept Encodable = OneOf<T, ToAgent> || OneOf<T, FromAgent> || OneOf<T, ChannelMessage> ||
                    OneOf<T, std::variant<ToAgent, FromAgent, ChannelMessage>>;

/// The variant that carries messages of type T.
template <class T>
using VariantOf = std::conditional_t<
    OneOf<T, ToAgent>, ToAgent, std::conditional_t<OneOf<T, FromAgent>, FromAgent, ChannelMessage>>;

/// Type and payload of the frame; the sender fills in node, session and sequence. Names of
/// variables must not be empty or contain '=', and no string may contain a NUL byte, which exec(3)
/// would not accept anyway: the receiver refuses a message that breaks these rules. Raw messages
/// may hold any bytes.
template <class T>
  requires Encodable<std::remove_cvref_t<T>>
[[nodiscard]] Frame encode(T&& message) {
  using Message = std::remove_cvref_t<T>;
  if constexpr (requires { std::variant_size<Message>::value; }) {
    return encode_message(message);
  } else {
    return encode_message(VariantOf<Message>(std::forward<T>(message)));
  }
}

/// `Messages`: ToAgent, FromAgent or ChannelMessage. Accepts any bytes; a message that is not one
/// of `Messages` is an error. Errors: exit_code::kNodeLost and, for example, `malformed RankExited
/// message: field "rank": expected an unsigned number`. Unknown fields are ignored. Of a Hello with
/// another protocol version, only protocol and build_id are decoded, so that the caller can report
/// both. The bytes of an OutputData point into the frame's payload.
template <class Messages>
[[nodiscard]] Result<Messages> decode(const FrameView& frame);
extern template Result<ToAgent> decode(const FrameView&);
extern template Result<FromAgent> decode(const FrameView&);
extern template Result<ChannelMessage> decode(const FrameView&);

/// Appends the part of an OutputData's frame that precedes its bytes.
void append_output_header(const OutputData& output, std::uint32_t node, std::uint64_t session,
                          std::string& out);

/// True for Ack and Resume.
[[nodiscard]] bool is_channels_own(std::uint16_t type);
/// False for Ack, Heartbeat, OutputData and Resume, which carry no sequence number.
[[nodiscard]] bool is_sequenced(std::uint16_t type);
[[nodiscard]] bool is_resume(std::uint16_t type);

/// "RankExited"; "unknown" for a number that no message has.
[[nodiscard]] const char* type_name(std::uint16_t type);

}  // namespace dlaunch::wire
