#include "wire/framer.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "wire/bytes.h"

namespace dlaunch::wire {

namespace {

/// What a person recognises in bytes that are no frame: the banner of a shell, "bash: command not
/// found".
std::string quoted_start(std::string_view bytes) {
  constexpr std::size_t kShown = 60;
  const std::size_t line = std::min(bytes.find_first_of("\r\n"), bytes.size());
  const std::string_view start = bytes.substr(0, std::min(line, kShown));
  const bool printable =
      std::all_of(start.begin(), start.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (start.size() < 4 || !printable) return "";
  return ": received \"" + std::string(start) + "\"";
}

Error malformed(const std::string& what, std::string_view bytes) {
  return Error{exit_code::kNodeLost, "malformed frame: " + what + quoted_start(bytes)};
}

}  // namespace

void append_frame(const Frame& frame, std::string& out) {
  assert(frame.payload.size() <= kMaxPayload);
  out.reserve(std::max(out.capacity(), out.size() + kHeaderSize + frame.payload.size()));
  append_little_endian(static_cast<std::uint32_t>(frame.payload.size()), out);
  append_little_endian(frame.type, out);
  append_little_endian(std::uint16_t{0}, out);
  append_little_endian(frame.node, out);
  append_little_endian(frame.session, out);
  append_little_endian(frame.sequence, out);
  out += frame.payload;
}

void FrameReader::feed(std::string_view bytes) {
  if (error_) return;
  // Moving the rest to the front only when it is the smaller part keeps the cost linear.
  if (consumed_ > buffer_.size() / 2) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<Frame>> FrameReader::next() {
  if (error_) return tl::unexpected<Error>(*error_);
  const std::string_view bytes = std::string_view(buffer_).substr(consumed_);
  if (bytes.size() < kHeaderSize) return std::nullopt;
  const auto length = little_endian_at<std::uint32_t>(bytes, 0);
  if (length > kMaxPayload) {
    error_ = malformed("a payload of " + std::to_string(length) + " bytes, at most " +
                           std::to_string(kMaxPayload) + " are allowed",
                       bytes);
  } else if (little_endian_at<std::uint16_t>(bytes, 6) != 0) {
    error_ = malformed("reserved bytes are not 0", bytes);
  }
  if (error_) {
    buffer_ = std::string();
    return tl::unexpected<Error>(*error_);
  }
  if (bytes.size() - kHeaderSize < length) return std::nullopt;
  Frame frame;
  frame.type = little_endian_at<std::uint16_t>(bytes, 4);
  frame.node = little_endian_at<std::uint32_t>(bytes, 8);
  frame.session = little_endian_at<std::uint64_t>(bytes, 12);
  frame.sequence = little_endian_at<std::uint64_t>(bytes, 20);
  frame.payload = bytes.substr(kHeaderSize, length);
  consumed_ += kHeaderSize + length;
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  }
  return frame;
}

}  // namespace dlaunch::wire
