// Little-endian numbers in byte strings, as frame headers and raw payloads carry them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch::wire {

template <class Number>
void append_little_endian(Number value, std::string& out) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

/// `bytes` must have at least offset + sizeof(Number) bytes.
template <class Number>
[[nodiscard]] Number little_endian_at(std::string_view bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[offset + i]);
  }
  return static_cast<Number>(value);
}

}  // namespace dlaunch::wire
