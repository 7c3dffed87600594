#include "numbers.h"

#include <cmath>
#include <cstdint>
#include <cstring>

using dlaunch::collectives::DataType;

namespace {

template <typename Number>
void put(void* buffer, std::size_t i, Number number) {
  std::memcpy(static_cast<char*>(buffer) + i * sizeof number, &number, sizeof number);
}

template <typename Number>
Number get(const void* buffer, std::size_t i) {
  Number number;
  std::memcpy(&number, static_cast<const char*>(buffer) + i * sizeof number, sizeof number);
  return number;
}

/// Rounds a finite value to a format with this many fraction bits and this bias of the exponent,
/// ties to even.
std::uint16_t encode(double value, int fraction_bits, int bias) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  value = std::fabs(value);
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  const double unit = std::ldexp(1.0, exponent - fraction_bits);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(value / unit));
  // Rounding up may carry into the exponent.
  return static_cast<std::uint16_t>(sign | ((static_cast<std::uint32_t>(exponent + bias - 1) << fraction_bits) + steps));
}

double decode(std::uint16_t bits, int fraction_bits, int bias) {
  const int exponent_bits = 15 - fraction_bits;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

}  // namespace

void store(void* buffer, std::size_t i, DataType type, double value) {
  const auto whole = static_cast<std::int64_t>(value);
  switch (type) {
    case DataType::int8: return put(buffer, i, static_cast<std::int8_t>(whole));
    case DataType::uint8: return put(buffer, i, static_cast<std::uint8_t>(whole));
    case DataType::int32: return put(buffer, i, static_cast<std::int32_t>(whole));
    case DataType::uint32: return put(buffer, i, static_cast<std::uint32_t>(whole));
    case DataType::int64: return put(buffer, i, whole);
    case DataType::uint64: return put(buffer, i, static_cast<std::uint64_t>(whole));
    case DataType::float16: return put(buffer, i, encode(value, 10, 15));
    case DataType::bfloat16: return put(buffer, i, encode(value, 7, 127));
    case DataType::float32: return put(buffer, i, static_cast<float>(value));
    case DataType::float64: return put(buffer, i, value);
  }
}

double load(const void* buffer, std::size_t i, DataType type) {
  switch (type) {
    case DataType::int8: return get<std::int8_t>(buffer, i);
    case DataType::uint8: return get<std::uint8_t>(buffer, i);
    case DataType::int32: return get<std::int32_t>(buffer, i);
    case DataType::uint32: return get<std::uint32_t>(buffer, i);
    case DataType::int64: return static_cast<double>(get<std::int64_t>(buffer, i));
    case DataType::uint64: return static_cast<double>(get<std::uint64_t>(buffer, i));
    case DataType::float16: return decode(get<std::uint16_t>(buffer, i), 10, 15);
    case DataType::bfloat16: return decode(get<std::uint16_t>(buffer, i), 7, 127);
    case DataType::float32: return get<float>(buffer, i);
    case DataType::float64: return get<double>(buffer, i);
  }
  return NAN;
}

bool is_float(DataType type) {
  return type >= DataType::float16;
}

bool is_signed(DataType type) {
  return is_float(type) || type == DataType::int8 || type == DataType::int32 || type == DataType::int64;
}

double wrapped(double value, DataType type) {
  if (is_float(type)) return value;
  char bytes[8];
  store(bytes, 0, type, value);
  return load(bytes, 0, type);
}

double epsilon(DataType type) {
  switch (type) {
    case DataType::float16: return 0x1p-10;
    case DataType::bfloat16: return 0x1p-7;
    case DataType::float32: return 0x1p-23;
    case DataType::float64: return 0x1p-52;
    default: return 0;
  }
}
