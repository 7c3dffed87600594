// Frames to bytes and back (layout: frame.h). Pure: the owner of the descriptor feeds and drains
// it. Thread-safety: none; one reader per channel.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/result.h"
#include "wire/frame.h"

namespace dlaunch::wire {

/// Appends header and payload. The payload must not exceed kMaxPayload: the receiver would end the
/// channel.
void append_frame(const Frame& frame, std::string& out);
/// Appends the header of a frame with `size` bytes of payload; frame.payload is not looked at.
void append_header(const FrameView& frame, std::size_t size, std::string& out);

/// Bytes in, frames out. Keeps only bytes that have arrived: a header that announces a large frame
/// allocates nothing. After an error it stays in error, because the start of the next frame is
/// unknown.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// To receive without a copy: write up to `size` bytes there, then report how many with took().
  [[nodiscard]] char* room(std::size_t size);
  void took(std::size_t size) { end_ += size; }
  /// nullopt: more bytes are needed.
  [[nodiscard]] Result<std::optional<Frame>> next();
  /// The same, without a copy of the payload: it is valid until the next feed() or room().
  [[nodiscard]] Result<std::optional<FrameView>> next_view();
  /// How many bytes the frame that has begun still needs, at least 1: first the rest of its header,
  /// then the rest of the frame. A caller that reads no more reads nothing of the next frame.
  [[nodiscard]] std::size_t missing() const;
  /// What has arrived after the frames that were handed out.
  [[nodiscard]] std::string_view rest() const { return {buffer_.get() + begin_, end_ - begin_}; }

 private:
  void make_room(std::size_t size);

  std::unique_ptr<char[]> buffer_;  // not zeroed: pages are touched only as bytes arrive
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // everything before it was handed out
  std::size_t end_ = 0;
  std::optional<Error> error_;
};

}  // namespace dlaunch::wire
