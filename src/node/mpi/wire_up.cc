#include "node/mpi/wire_up.h"

namespace dlaunch {

namespace {

/// A rank that has the right world over one protocol need not have it over the other: `dlaunch
/// check` exchanges addresses over PMI-1 while its MPI library uses PMIx.
std::optional<std::uint32_t> other_world_of(const WireUp& one, const WireUp& other) {
  const bool is_met = other.offered && other.connected && !other.other_world;
  return is_met ? std::nullopt : one.other_world;
}

}  // namespace

WireUp both(const WireUp& pmix, const WireUp& pmi1) {
  WireUp seen;
  seen.offered = pmix.offered || pmi1.offered;
  seen.connected = pmix.connected || pmi1.connected;
  seen.finalized = pmix.finalized || pmi1.finalized;
  seen.aborted = pmix.aborted ? pmix.aborted : pmi1.aborted;
  seen.other_world = other_world_of(pmi1, pmix);
  if (!seen.other_world) seen.other_world = other_world_of(pmix, pmi1);
  seen.hopeless = seen.other_world && (pmix.hopeless || pmi1.hopeless);
  return seen;
}

/// A missing MPI_Finalize is a failure too: other ranks may wait for this one.
ExitStatus judged(const WireUp& seen, ExitStatus status) {
  if (!seen.offered) return status;
  if (seen.aborted) {
    status = ExitStatus();
    status.value = *seen.aborted & 0xff;
    status.mpi = MpiEnd::aborted;
  } else if (seen.other_world && seen.hopeless) {
    status = ExitStatus();
    status.mpi = MpiEnd::other_world;
    status.mpi_world = *seen.other_world;
  } else if (!status.ok()) {
    return status;
  } else if (!seen.connected) {
    status.mpi = MpiEnd::never_connected;
  } else if (!seen.finalized) {
    status.mpi = MpiEnd::not_finalized;
  } else if (seen.other_world) {
    status.mpi = MpiEnd::other_world;
    status.mpi_world = *seen.other_world;
  }
  return status;
}

}  // namespace dlaunch
