// Conversion of the 16-bit floating-point types to and from float32, for reductions over MPI.
//
// Rounding is to nearest, ties to even (IEEE 754-2019, 4.3.1); NaN stays NaN. Pure.
#ifndef DLAUNCH_COLLECTIVES_HALF_H
#define DLAUNCH_COLLECTIVES_HALF_H

#include <cstdint>

namespace dlaunch::collectives {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
float from_float16(std::uint16_t bits) noexcept;
std::uint16_t to_float16(float value) noexcept;

/// The upper 16 bits of a float32.
float from_bfloat16(std::uint16_t bits) noexcept;
std::uint16_t to_bfloat16(float value) noexcept;

}  // namespace dlaunch::collectives

#endif
