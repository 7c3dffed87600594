// What a wire-up protocol of MPI, PMIx or PMI-1, has seen of a rank, and what that says of its end.
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "model/exit_status.h"

namespace dlaunch {

struct WireUp {
  bool offered = false;    // the rank could have used it; else nothing below has a meaning
  bool connected = false;  // it has called MPI_Init
  bool finalized = false;  // and MPI_Finalize
  std::optional<std::int32_t> aborted;  // the code given to MPI_Abort
  /// Ranks of the world that its library has made, where this is not the job's world. Always
  /// nullopt with PMIx: whoever is connected has the world's size from the server.
  std::optional<std::uint32_t> other_world;
  bool hopeless = false;  // that world cannot come about, and the rank is ended for it
};

/// What is known of a rank that could use both.
[[nodiscard]] WireUp both(const WireUp& pmix, const WireUp& pmi1);

/// The end of a rank that has ended by itself, in `status` as its process ended: no success where
/// it had no part in the job's world. What failed by itself is left as it is.
[[nodiscard]] ExitStatus judged(const WireUp& seen, ExitStatus status);

}  // namespace dlaunch
