// What is known about a rank from a wire-up protocol of MPI (PMIx or PMI-1), and what that says
// about its end. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "model/exit_status.h"

namespace dlaunch {

struct WireUp {
  bool offered = false;                 // the rank could use it; else the rest is meaningless
  bool connected = false;               // it has called MPI_Init
  bool finalized = false;               // and MPI_Finalize
  std::optional<std::int32_t> aborted;  // the code passed to MPI_Abort
  /// Size of the world that its library has made, if it differs from the job's. Always nullopt with
  /// PMIx, where the library gets the size from the server.
  std::optional<std::uint32_t> other_world;
  bool hopeless = false;  // that world can never be complete, so the rank is ended
};

/// Combines what both protocols have seen of a rank.
[[nodiscard]] WireUp both(const WireUp& pmix, const WireUp& pmi1);

/// The status of a rank that ended by itself. `status`: of its process. A success becomes a failure
/// unless the rank took part in the job's world. MPI_Abort and a hopeless world replace any status;
/// other failures stay unchanged.
[[nodiscard]] ExitStatus judged(const WireUp& seen, ExitStatus status);

}  // namespace dlaunch
