// `dlaunch check --local`: this machine alone, without ssh, in some seconds.
#pragma once

#include <cstdint>
#include <optional>

namespace dlaunch {

struct LocalCheckOptions {
  bool json = false;
  std::optional<std::uint32_t> expected_gpus;
};

/// Prints what this machine has, how fast it is and what is wrong with it. Returns kOk, or
/// kPreflight where something is wrong. All it asks and measures has one limit of 9 s: what is late
/// then is said in a line each, and nothing wrong by itself. (The machine's files in /sys and /proc
/// have none, and a program that hangs in a driver is given up to a second more.)
[[nodiscard]] int check_local(const LocalCheckOptions& options);

}  // namespace dlaunch
