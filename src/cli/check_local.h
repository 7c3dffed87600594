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
/// kPreflight where something is wrong; takes less than 10 s, on a machine that is very busy
/// or whose GPU's driver hangs up to 25.
[[nodiscard]] int check_local(const LocalCheckOptions& options);

}  // namespace dlaunch
