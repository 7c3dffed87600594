// Converts elements of any type to double and back, independently of the library's conversions.
#pragma once
#include <cstddef>

#include <dlaunch/collectives/types.h>

void store(void* buffer, std::size_t i, dlaunch::collectives::DataType type, double value);
double load(const void* buffer, std::size_t i, dlaunch::collectives::DataType type);
bool is_float(dlaunch::collectives::DataType type);
bool is_signed(dlaunch::collectives::DataType type);
/// The value as the type holds it: integers wrap around; floating-point numbers are not rounded.
double wrapped(double value, dlaunch::collectives::DataType type);
/// The distance from 1 to the next number.
double epsilon(dlaunch::collectives::DataType type);
