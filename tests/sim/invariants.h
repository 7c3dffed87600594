// What must be true of every run, whatever goes wrong in it: one list.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "digest.h"
#include "trace.h"

namespace dlaunch::sim {

/// What is wrong, in words; nullopt: nothing.
using Finding = std::optional<std::string>;

struct Invariant {
  const char* name;
  Finding (*check)(const Trace&, const Digest&);
};

[[nodiscard]] std::span<const Invariant> invariants();

}  // namespace dlaunch::sim
