// The invariants of every run, whatever goes wrong in it, in one list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "digest.h"
#include "trace.h"

namespace dlaunch::sim {

/// The violation, in words; nullopt: none.
using Finding = std::optional<std::string>;

struct Invariant {
  const char* name;
  Finding (*check)(const Trace&, const Digest&);
};

/// Must hold for every attempt.
[[nodiscard]] std::span<const Invariant> invariants();

struct Part {
  Trace trace;
  Digest digest;
};

struct RunInvariant {
  const char* name;
  Finding (*check)(const Trace& run, const std::vector<Part>& attempts);
};

/// Must hold for every run, over all its attempts.
[[nodiscard]] std::span<const RunInvariant> run_invariants();

}  // namespace dlaunch::sim
