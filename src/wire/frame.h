// A frame carries one message on the channel: a fixed header of little-endian numbers, then the
// payload.
//
//   offset  size  field
//        0     4  payload length in bytes, at most kMaxPayload
//        4     2  message type (position in the list in codec.cc, counted from 1)
//        6     2  reserved, 0
//        8     4  index of the node that the frame is about, so that an agent could forward it
//       12     8  session id: random per run and node, so that a stale connection is recognised
//       20     8  sequence number: 1, 2, ... for control frames of one direction; 0 for Ack,
//                 Heartbeat, OutputData and Resume, which are not repeated after a reconnect
//       28        payload: CBOR (RFC 8949), or raw bytes (wire/codec.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch::wire {

inline constexpr std::size_t kHeaderSize = 28;
inline constexpr std::size_t kMaxPayload = std::size_t{16} << 20;
/// Maximum nesting of arrays and maps in a control payload; checked before the payload is decoded.
inline constexpr int kMaxNesting = 12;

/// A frame whose payload is still in the receive buffer.
struct FrameView {
  std::uint16_t type = 0;
  std::uint32_t node = 0;
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::string_view payload;
};

struct Frame {
  std::uint16_t type = 0;
  std::uint32_t node = 0;
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::string payload;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::string converts to std::string_view
  operator FrameView() const { return {type, node, session, sequence, payload}; }
  bool operator==(const Frame&) const = default;
};

}  // namespace dlaunch::wire
