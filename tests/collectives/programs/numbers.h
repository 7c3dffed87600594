// Elements of any type as double and back, written apart from the library's own conversions.
#pragma once
#include <cstddef>

#include <dlaunch/collectives/types.h>

void store(void* buffer, std::size_t i, dlaunch::collectives::DataType type, double value);
double load(const void* buffer, std::size_t i, dlaunch::collectives::DataType type);
bool is_float(dlaunch::collectives::DataType type);
bool is_signed(dlaunch::collectives::DataType type);
/// The value as the type holds it: integers wrap around, floating-point numbers are not rounded here.
double wrapped(double value, dlaunch::collectives::DataType type);
/// Distance of 1 and the next number.
double epsilon(dlaunch::collectives::DataType type);
