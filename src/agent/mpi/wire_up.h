// What a wire-up protocol of MPI, PMIx or PMI-1, has seen of a rank.
#pragma once

#include <cstdint>
#include <optional>

namespace dlaunch {

struct WireUp {
  bool offered = false;    // the rank could have used it; else nothing below has a meaning
  bool connected = false;  // it has called MPI_Init
  bool finalized = false;  // and MPI_Finalize
  std::optional<std::int32_t> aborted;  // the code given to MPI_Abort
};

}  // namespace dlaunch
