// Errors that say that another rank is gone: they follow from a failure elsewhere. Pure.
#pragma once

#include <span>
#include <string_view>

#include "report/evidence.h"

namespace dlaunch {

/// An error that holds `pattern` says `means` of the rank's peers.
struct PeerLoss {
  std::string_view pattern;
  std::string_view means;  // completes "the error says that ..."
};

/// The one table of these errors: gloo, NCCL, PyTorch's store, JAX, TensorFlow, Horovod, MPI, UCX.
[[nodiscard]] std::span<const PeerLoss> peer_losses();

/// The row that fits what a rank has said: its exception or, where it printed none, one of its last
/// lines. nullptr: it says nothing of the kind.
[[nodiscard]] const PeerLoss* find_peer_loss(const Evidence& evidence);

}  // namespace dlaunch
