// Frames to bytes and back (layout: frame.h). Pure: whoever owns the descriptor feeds and drains.
// Thread-safety: none; one reader per channel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "model/result.h"
#include "wire/frame.h"

namespace dlaunch::wire {

/// Appends header and payload. The payload must not exceed kMaxPayload: the receiver would end the
/// channel.
void append_frame(const Frame& frame, std::string& out);

/// Bytes in, frames out. Keeps only bytes that have arrived: a header that announces much allocates
/// nothing. After an error it stays in error, because nobody can tell where the next frame begins.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// nullopt: more bytes are needed.
  [[nodiscard]] Result<std::optional<Frame>> next();

 private:
  std::string buffer_;
  std::size_t consumed_ = 0;  // bytes at the front of buffer_ that were handed out
  std::optional<Error> error_;
};

}  // namespace dlaunch::wire
