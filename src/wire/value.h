// Encodes values of the field table (wire/fields.h) without a frame, for communication between
// processes of the same build on one node. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "wire/cbor.h"
#include "wire/decoder.h"
#include "wire/encoder.h"
#include "wire/frame.h"

namespace dlaunch::wire {

template <HasFields T>
[[nodiscard]] std::string encode_value(const T& value) {
  std::string bytes;
  Encoder(bytes).put(value);
  return bytes;
}

/// Accepts any bytes. nullopt: they are not exactly one T, with all fields in range.
template <HasFields T>
[[nodiscard]] std::optional<T> decode_value(std::string_view bytes) {
  T value;
  if (!cbor::check(bytes, kMaxNesting) || !Decoder(bytes).get(value)) return std::nullopt;
  return value;
}

/// One byte, the index of the alternative, then the alternative.
template <HasFields... T>
[[nodiscard]] std::string encode_value(const std::variant<T...>& value) {
  std::string bytes(1, static_cast<char>(value.index()));
  std::visit([&](const auto& one) { Encoder(bytes).put(one); }, value);
  return bytes;
}

template <class Variant, std::size_t I = 0>
[[nodiscard]] std::optional<Variant> decode_variant(std::string_view bytes) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (bytes.empty()) return std::nullopt;
    if (static_cast<std::size_t>(bytes.front()) != I) return decode_variant<Variant, I + 1>(bytes);
    auto value = decode_value<std::variant_alternative_t<I, Variant>>(bytes.substr(1));
    return value ? std::optional<Variant>(*std::move(value)) : std::nullopt;
  } else {
    return std::nullopt;
  }
}

}  // namespace dlaunch::wire
