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
  bool is_wait = false;  // not an attempt: the run ended in a wait, and this has just its report
};

struct RunInvariant {
  const char* name;
  Finding (*check)(const Trace& run, const std::vector<Part>& attempts);
};

/// Must hold for every run, over all its attempts.
[[nodiscard]] std::span<const RunInvariant> run_invariants();

struct SpareInvariant {
  const char* name;
  Finding (*check)(const Trace&);
};

/// Must hold for every run with spares.
[[nodiscard]] std::span<const SpareInvariant> spare_invariants();

/// What happened to the set of nodes in a run with spares.
struct SetHistory {
  std::size_t removed = 0;       // steps with nodes that left it
  std::size_t shrunk = 0;        // attempts on fewer nodes than wanted
  std::size_t joined_again = 0;  // nodes that had left and ran ranks again
  std::size_t restarts = 0;
};
[[nodiscard]] SetHistory history_of_set(const Trace&);

}  // namespace dlaunch::sim
