// Which seeds a test runs: its default number, or as set in the environment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

namespace dlaunch::sim {

inline std::optional<std::uint64_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

/// Of each kind; a sanitizer takes fifty times as long.
inline constexpr std::uint64_t kUsualSeeds = DLAUNCH_SIM_USUAL_SEEDS;

/// Both inclusive.
struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  bool is_one = false;    // DLAUNCH_SIM_SEED
  bool is_usual = false;  // nothing is set in the environment
};

/// 1 to `usual`. DLAUNCH_SIM_SEED: just this one; DLAUNCH_SIM_SEEDS: up to that one, from
/// DLAUNCH_SIM_FIRST on, so that several processes can share them.
inline Seeds seeds(std::uint64_t usual) {
  if (const auto only = number_from_environment("DLAUNCH_SIM_SEED"))
    return {*only, *only, true, false};
  const auto last = number_from_environment("DLAUNCH_SIM_SEEDS");
  return {number_from_environment("DLAUNCH_SIM_FIRST").value_or(1), last.value_or(usual), false,
          !last};
}

}  // namespace dlaunch::sim
