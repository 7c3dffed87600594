// Failures whose cause is known: why they happened and what to try, one row each; and the errors
// that only say that another rank is gone. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/summary.h"

namespace dlaunch {

/// Why the run failed, where there is evidence for it; else empty.
[[nodiscard]] std::string why_failed(const SummaryInput& input);
/// What to try; empty: no row has advice.
[[nodiscard]] std::string advice_for(const SummaryInput& input);
/// The name of the known failure ("file-missing"); empty: it is not a known one.
[[nodiscard]] std::string name_of_failure(const SummaryInput& input);

/// An error that contains `pattern` says `means` about the rank's peers: such an error follows from
/// a failure elsewhere.
struct PeerLoss {
  std::string_view pattern;
  std::string_view means;  // completes "the error says that ..."
};

/// gloo, NCCL, PyTorch's store, JAX, TensorFlow, Horovod, MPI, UCX.
[[nodiscard]] std::span<const PeerLoss> peer_losses();

/// The row that fits a rank's exception or, if it printed none, one of its last lines. nullptr:
/// none does, or the output has a cause that such an error follows from
/// (KnownFailure::beats_peer_loss).
[[nodiscard]] const PeerLoss* find_peer_loss(const Evidence& evidence);

/// If the first rank's error only says that another one is gone, and no rank is known to have
/// caused that: the ranks that ended without such an error, one of which may show why. Else empty.
[[nodiscard]] std::vector<Rank> suspects(const SummaryInput& input);

}  // namespace dlaunch
