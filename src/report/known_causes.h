// Failures with a known cause: why they happened and what to try, one row each. Also the errors
// that only say that another rank is gone. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/summary.h"

namespace dlaunch {

/// Why the run failed; empty if there is no evidence for a cause.
[[nodiscard]] std::string why_failed(const SummaryInput& input);
/// What to try; empty: no row has advice.
[[nodiscard]] std::string advice_for(const SummaryInput& input);
/// The name of the known failure ("file-missing"); empty: the failure is not a known one.
[[nodiscard]] std::string name_of_failure(const SummaryInput& input);

/// An error that contains `pattern` says `means` about the rank's peers. Such an error is the
/// consequence of another rank's failure.
struct PeerLoss {
  std::string_view pattern;
  std::string_view means;  // completes "the error says that ..."
};

/// The rows for gloo, NCCL, PyTorch's store, JAX, TensorFlow, Horovod, MPI and UCX.
[[nodiscard]] std::span<const PeerLoss> peer_losses();

/// The row that fits a rank's exception or, if it printed none, one of its last lines. nullptr: no
/// row fits, or the output shows a cause that explains such an error
/// (KnownFailure::beats_peer_loss).
[[nodiscard]] const PeerLoss* find_peer_loss(const Evidence& evidence);

/// If the first rank's error only says that another rank is gone, and the rank that caused this is
/// unknown: the ranks that ended without such an error, because the output of one of them may show
/// the cause. Else empty.
[[nodiscard]] std::vector<Rank> suspects(const SummaryInput& input);

}  // namespace dlaunch
