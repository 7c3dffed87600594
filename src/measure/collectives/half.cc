#include "measure/collectives/half.h"

#include <bit>
#include <cmath>

namespace dlaunch::collectives {

namespace {

constexpr std::uint32_t kSignOfFloat = 0x80000000U;
constexpr std::uint32_t kInfinityOfFloat = 0x7f800000U;
constexpr std::uint32_t kInfinityOfHalf = 0x7c00U;
constexpr std::uint32_t kQuietOfHalf = 0x0200U;
constexpr std::uint32_t kQuietOfBfloat = 0x0040U;
constexpr int kFractionDifference = 23 - 10;  // bits
constexpr std::uint32_t kBiasDifference = (127U - 15U) << 23U;
constexpr std::uint32_t kTooLargeForHalf = 0x47800000U;  // 65536
constexpr std::uint32_t kLeastNormalHalf = 0x38800000U;  // 2^-14
constexpr float kUnitOfSubnormalHalf = 0x1p-24F;

/// Drops the lowest `count` bits, rounding to nearest, ties to even.
std::uint32_t rounded(std::uint32_t bits, int count) noexcept {
  const std::uint32_t half = 1U << static_cast<unsigned>(count - 1);
  const std::uint32_t odd = (bits >> static_cast<unsigned>(count)) & 1U;
  return (bits + half - 1U + odd) >> static_cast<unsigned>(count);
}

}  // namespace

float from_float16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= kInfinityOfHalf) {
    return std::bit_cast<float>(sign | kInfinityOfFloat |
                                ((magnitude - kInfinityOfHalf) << kFractionDifference));
  }
  if (magnitude < 0x0400U) {  // zero and subnormal numbers
    const float value = static_cast<float>(magnitude) * kUnitOfSubnormalHalf;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << kFractionDifference) + kBiasDifference));
}

std::uint16_t to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits & kSignOfFloat) >> 16U);
  const std::uint32_t magnitude = bits & ~kSignOfFloat;
  std::uint32_t half = kInfinityOfHalf;
  if (magnitude > kInfinityOfFloat) {
    half |= kQuietOfHalf;
  } else if (magnitude < kLeastNormalHalf) {
    // Exact, since it multiplies by a power of two. nearbyint() uses the rounding mode, which is to
    // nearest.
    half = static_cast<std::uint32_t>(std::nearbyint(std::fabs(value) / kUnitOfSubnormalHalf));
  } else if (magnitude < kTooLargeForHalf) {
    half = rounded(magnitude - kBiasDifference, kFractionDifference);
  }
  return static_cast<std::uint16_t>(sign | half);
}

float from_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & ~kSignOfFloat) > kInfinityOfFloat;
  if (is_nan) return static_cast<std::uint16_t>((bits >> 16U) | kQuietOfBfloat);
  return static_cast<std::uint16_t>(rounded(bits, 16));
}

}  // namespace dlaunch::collectives
