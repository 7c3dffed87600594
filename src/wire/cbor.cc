#include "wire/cbor.h"

#include <cassert>
#include <vector>

namespace dlaunch::wire::cbor {

namespace {

// RFC 8949 section 3: the low five bits of the first byte.
constexpr std::uint8_t kOneByteFollows = 24;
constexpr std::uint8_t kEightBytesFollow = 27;
constexpr std::uint8_t kIndefinite = 31;

/// How many bytes follow the first one, if its low five bits are 24 to 27.
std::size_t argument_size(std::uint8_t low) {
  return std::size_t{1} << (low - kOneByteFollows);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = (value << 8) | static_cast<std::uint8_t>(c);
  return value;
}

tl::unexpected<Error> bad(std::size_t offset, const std::string& what) {
  return fail(exit_code::kNodeLost, what + " at byte " + std::to_string(offset));
}

/// Reads the head at `position` without reading past the end of `payload`.
Result<Head> checked_head(std::string_view payload, std::size_t& position) {
  const std::size_t start = position;
  if (start >= payload.size()) return bad(start, "it is cut short");
  const auto first = static_cast<std::uint8_t>(payload[position++]);
  const auto major = static_cast<std::uint8_t>(first >> 5);
  const auto low = static_cast<std::uint8_t>(first & 0x1f);
  if (major == 6) return bad(start, "a CBOR tag, which the protocol does not use,");
  if (low == kIndefinite) {
    return bad(start, "a CBOR item of indefinite length, which the protocol does not use,");
  }
  if (low > kEightBytesFollow) return bad(start, "it is not CBOR: reserved length code");
  Head head{static_cast<Major>(major), low};
  if (low >= kOneByteFollows) {
    const std::size_t size = argument_size(low);
    if (payload.size() - position < size) return bad(start, "it is cut short");
    head.argument = big_endian(payload.substr(position, size));
    position += size;
    // Section 3.3: simple values below 32 must not use the two-byte form.
    if (head.major == Major::simple && low == kOneByteFollows && head.argument < 32) {
      return bad(start, "it is not CBOR: simple value in a reserved form");
    }
  }
  return head;
}

}  // namespace

void Writer::head(Major major, std::uint64_t argument) {
  const auto top = static_cast<std::uint8_t>(static_cast<std::uint8_t>(major) << 5);
  if (argument < kOneByteFollows) {
    out_.push_back(static_cast<char>(top | argument));
    return;
  }
  std::uint8_t low = kOneByteFollows;
  while (low < kEightBytesFollow && (argument >> (8 * argument_size(low))) != 0) ++low;
  out_.push_back(static_cast<char>(top | low));
  for (std::size_t left = argument_size(low); left-- > 0;) {
    out_.push_back(static_cast<char>(argument >> (8 * left)));
  }
}

void Writer::number(std::int64_t value) {
  // Section 3.1: a negative number n is written as -1 - n.
  if (value < 0) return head(Major::negative_number, ~static_cast<std::uint64_t>(value));
  head(Major::unsigned_number, static_cast<std::uint64_t>(value));
}

void Writer::bytes(std::string_view value) {
  head(Major::bytes, value.size());
  out_.append(value);
}

void Writer::bytes(std::string_view a, std::string_view b, std::string_view c) {
  head(Major::bytes, a.size() + b.size() + c.size());
  out_.append(a).append(b).append(c);
}

void Writer::text(std::string_view value) {
  head(Major::text, value.size());
  out_.append(value);
}

Status check(std::string_view payload, int max_depth) {
  assert(max_depth > 0);
  // Items still to come in each open array or map; the outermost entry is the payload itself.
  std::vector<std::uint64_t> open;
  open.reserve(static_cast<std::size_t>(max_depth) + 1);
  open.push_back(1);
  std::size_t position = 0;
  while (!open.empty()) {
    if (open.back() == 0) {
      open.pop_back();
      continue;
    }
    --open.back();
    const std::size_t start = position;
    const Result<Head> head = checked_head(payload, position);
    if (!head) return tl::unexpected<Error>(head.error());
    const std::uint64_t rest = payload.size() - position;
    switch (head->major) {
      case Major::bytes:
      case Major::text:
        if (head->argument > rest) return bad(start, "it is cut short: string");
        position += static_cast<std::size_t>(head->argument);
        break;
      case Major::array:
      case Major::map: {
        // Each item takes at least one byte, so a count larger than the remaining bytes is wrong.
        const std::uint64_t items = head->major == Major::map ? 2 : 1;
        if (head->argument > rest / items) return bad(start, "it is cut short: list");
        if (static_cast<int>(open.size()) > max_depth) {
          return bad(start, "nested deeper than " + std::to_string(max_depth));
        }
        open.push_back(items * head->argument);
        break;
      }
      case Major::unsigned_number:
      case Major::negative_number:
      case Major::simple:
        break;
    }
  }
  if (position != payload.size()) return bad(position, "bytes after its end");
  return {};
}

Head Cursor::head() {
  assert(position_ < payload_.size());
  const auto first = static_cast<std::uint8_t>(payload_[position_++]);
  const auto low = static_cast<std::uint8_t>(first & 0x1f);
  Head head{static_cast<Major>(first >> 5), low};
  if (low >= kOneByteFollows) {
    const std::size_t size = argument_size(low);
    head.argument = big_endian(payload_.substr(position_, size));
    position_ += size;
    // No caller reads floats, so one number stands for floats of any width.
    if (head.major == Major::simple && low > kOneByteFollows) head.argument = UINT64_MAX;
  }
  return head;
}

std::string_view Cursor::content(const Head& string) {
  const auto size = static_cast<std::size_t>(string.argument);
  assert(size <= payload_.size() - position_);
  const std::string_view bytes = payload_.substr(position_, size);
  position_ += size;
  return bytes;
}

void Cursor::skip() {
  for (std::uint64_t items = 1; items > 0; --items) {
    const Head item = head();
    switch (item.major) {
      case Major::bytes:
      case Major::text:
        position_ += static_cast<std::size_t>(item.argument);
        break;
      case Major::array:
        items += item.argument;
        break;
      case Major::map:
        items += 2 * item.argument;
        break;
      case Major::unsigned_number:
      case Major::negative_number:
      case Major::simple:
        break;
    }
  }
}

}  // namespace dlaunch::wire::cbor
