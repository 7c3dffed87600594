#include "report/peer_loss.h"

#include <algorithm>
#include <array>

namespace dlaunch {

namespace {

// Last lines to search if a program ended without an exception: Open MPI's text has 15.
constexpr std::size_t kLines = 20;

constexpr std::string_view kClosed = "another rank closed its connection";
constexpr std::string_view kNetwork = "another rank is gone, or the network failed";
constexpr std::string_view kStore = "the store of rank 0 is gone";
constexpr std::string_view kWaited = "another rank did not come";
constexpr std::string_view kCoordinator = "another process of the job is gone";

// tests/unit/report/peer_loss_test.cc has a real message for each row.
constexpr std::array<PeerLoss, 28> kTable{{
    {"Connection closed by peer", kClosed},         // gloo
    {"Connection reset by peer", kClosed},          // gloo, PyTorch's store, Hydra, Python
    {"Broken pipe", kClosed},                       // the same
    {"Connection closed by remote peer", kClosed},  // NCCL
    {"Connection reset by remote peer", kClosed},   // UCX
    {"remote process exited", kNetwork},            // NCCL in PyTorch
    {"ncclRemoteError", kNetwork},
    {"ncclSystemError", kNetwork},
    {"unhandled system error", kNetwork},  // ncclSystemError in PyTorch's words
    {"ecv, got 0 bytes", kStore},          // "failed to recv, ...", "Failed to recv, ..."
    {"The client socket has failed to connect", kStore},
    {"The client socket has timed out", kStore},
    {"clients joined", kWaited},                                // PyTorch's store
    {"wait timeout after", kWaited},                            // the same
    {"Timed out waiting", kWaited},                             // gloo
    {"Watchdog caught collective operation timeout", kWaited},  // PyTorch with NCCL
    {"JAX distributed service detected fatal errors", kCoordinator},
    {"coordination service", kCoordinator},  // JAX, TensorFlow
    {"stopped sending heartbeats", kCoordinator},
    {"Barrier timed out", kWaited},
    {"UnavailableError", kCoordinator},                    // TensorFlow
    {"UNAVAILABLE: ", kCoordinator},                       // gRPC
    {"failed to connect to all addresses", kCoordinator},  // the same
    {"Collective ops is aborted by", kCoordinator},        // TensorFlow
    {"Horovod has been shut down", kCoordinator},
    {"MPI communication peer process has unexpectedly disconnected", kClosed},  // Open MPI
    {"Communication error with rank", kClosed},                                 // MPICH
    {"MPI_ERR_PROC_FAILED", kCoordinator},
}};

const PeerLoss* row_for(std::string_view text) {
  const auto* found = std::find_if(kTable.begin(), kTable.end(), [&](const PeerLoss& row) {
    return text.find(row.pattern) != std::string_view::npos;
  });
  return found == kTable.end() ? nullptr : found;
}

}  // namespace

std::span<const PeerLoss> peer_losses() {
  return kTable;
}

const PeerLoss* find_peer_loss(const Evidence& evidence) {
  if (evidence.exception) return row_for(*evidence.exception);
  const auto& lines = evidence.last_lines;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) {
    if (const PeerLoss* row = row_for(lines[i])) return row;
  }
  return nullptr;
}

}  // namespace dlaunch
