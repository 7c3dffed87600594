#include "wire/framer.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <utility>

#include "wire/bytes.h"

namespace dlaunch::wire {

namespace {

constexpr std::size_t kKeptCapacity = std::size_t{1} << 20;

/// The start of bytes that are not a frame, quoted so that the user can recognise a shell's banner
/// or "bash: command not found".
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
  append_header({frame.type, frame.node, frame.session, frame.sequence, {}}, frame.payload.size(),
                out);
  out += frame.payload;
}

void append_header(const FrameView& frame, std::size_t size, std::string& out) {
  append_little_endian(static_cast<std::uint32_t>(size), out);
  append_little_endian(frame.type, out);
  append_little_endian(std::uint16_t{0}, out);
  append_little_endian(frame.node, out);
  append_little_endian(frame.session, out);
  append_little_endian(frame.sequence, out);
}

void FrameReader::feed(std::string_view bytes) {
  if (error_ || bytes.empty()) return;
  std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
  took(bytes.size());
}

char* FrameReader::room(std::size_t size) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    // One huge frame must not occupy its memory for the rest of the session.
    if (capacity_ > kKeptCapacity) {
      buffer_.reset();
      capacity_ = 0;
    }
  }
  if (capacity_ - end_ < size) make_room(size);
  return buffer_.get() + end_;
}

void FrameReader::release_if_empty() {
  if (begin_ != end_) return;
  buffer_.reset();
  capacity_ = begin_ = end_ = 0;
}

void FrameReader::make_room(std::size_t size) {
  const std::size_t held = end_ - begin_;
  // Move the remaining bytes to the front only if they fit into the part already handed out: this
  // keeps the total cost linear.
  if (held <= begin_ && held + size <= capacity_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, held);
  } else {
    const std::size_t wanted = std::max(2 * capacity_, held + size);
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (held > 0) std::memcpy(larger.get(), buffer_.get() + begin_, held);
    buffer_ = std::move(larger);
    capacity_ = wanted;
  }
  begin_ = 0;
  end_ = held;
}

Result<std::optional<Frame>> FrameReader::next() {
  auto view = next_view();
  if (!view) return tl::unexpected<Error>(std::move(view.error()));
  if (!*view) return std::nullopt;
  const FrameView& frame = **view;
  return Frame{frame.type, frame.node, frame.session, frame.sequence, std::string(frame.payload)};
}

Result<std::optional<FrameView>> FrameReader::next_view() {
  if (error_) return tl::unexpected<Error>(*error_);
  const std::string_view bytes(buffer_.get() + begin_, end_ - begin_);
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
    buffer_.reset();
    capacity_ = begin_ = end_ = 0;
    return tl::unexpected<Error>(*error_);
  }
  if (bytes.size() - kHeaderSize < length) return std::nullopt;
  FrameView frame;
  frame.type = little_endian_at<std::uint16_t>(bytes, 4);
  frame.node = little_endian_at<std::uint32_t>(bytes, 8);
  frame.session = little_endian_at<std::uint64_t>(bytes, 12);
  frame.sequence = little_endian_at<std::uint64_t>(bytes, 20);
  frame.payload = bytes.substr(kHeaderSize, length);
  begin_ += kHeaderSize + length;
  return frame;
}

std::size_t FrameReader::missing() const {
  const std::string_view bytes(buffer_.get() + begin_, end_ - begin_);
  if (bytes.size() < kHeaderSize) return kHeaderSize - bytes.size();
  const std::size_t all = kHeaderSize + little_endian_at<std::uint32_t>(bytes, 0);
  return all > bytes.size() ? all - bytes.size() : 1;
}

}  // namespace dlaunch::wire
