// Frames to bytes and back (layout: frame.h). Pure: the owner of the descriptor feeds the bytes in
// and takes the frames out. Thread-safety: none; one reader per channel.
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
/// Appends the header of a frame with `size` bytes of payload; ignores frame.payload.
void append_header(const FrameView& frame, std::size_t size, std::string& out);

/// Bytes in, frames out. Keeps only bytes that have arrived: a header that announces a large frame
/// allocates nothing. After an error, next() always fails, because the start of the next frame is
/// unknown.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// Space for receiving without a copy: write up to `size` bytes there, then report how many with
  /// took().
  [[nodiscard]] char* room(std::size_t size);
  void took(std::size_t size) { end_ += size; }
  /// Frees the buffer, unless it holds part of a frame.
  void release_if_empty();
  /// nullopt: more bytes are needed.
  [[nodiscard]] Result<std::optional<Frame>> next();
  /// Like next(), but without a copy of the payload, which is valid until the next feed(),
  /// room() or release_if_empty().
  [[nodiscard]] Result<std::optional<FrameView>> next_view();
  /// How many bytes the current frame still needs, at least 1: first the rest of its header, then
  /// the rest of the frame. A caller that reads no more than that does not touch the next frame.
  [[nodiscard]] std::size_t missing() const;
  /// The bytes that have arrived after the last frame that was handed out.
  [[nodiscard]] std::string_view rest() const { return {buffer_.get() + begin_, end_ - begin_}; }

 private:
  void make_room(std::size_t size);

  std::unique_ptr<char[]> buffer_;  // not zeroed: pages are touched only as bytes arrive
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // the bytes before it have been handed out
  std::size_t end_ = 0;
  std::optional<Error> error_;
};

}  // namespace dlaunch::wire
