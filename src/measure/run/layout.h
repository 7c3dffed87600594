// Which back-end measures between nodes (`dlaunch bench`, `check`), and with how many ranks on
// each: decided from the nodes' facts, before anything is started. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

enum class MeasureBackend { automatic, mpi, nccl };

struct LayoutRequest {
  MeasureBackend backend = MeasureBackend::automatic;
  bool has_mpi = false;        // this dlaunch was built with MPI
  bool has_nccl = false;       // likewise
  bool ranks_are_set = false;  // by the user
};

struct RankLayout {
  MeasureBackend backend = MeasureBackend::mpi;  // not automatic
  std::vector<std::uint32_t> per_node;           // ranks on each node that is used
  std::uint32_t ranks = 0;
  bool operator==(const RankLayout&) const = default;
};

/// NCCL if every node has a usable GPU, else MPI. If the user sets no number of ranks: with NCCL
/// one for each GPU; with MPI one for each node (or its slots), but two on a single node, since one
/// rank would measure only its own memory. Sets that number in the job. Errors: kPreflight: dlaunch
/// was built without the back-end, or NCCL is requested and a node has no GPU; those of place().
[[nodiscard]] Result<RankLayout> lay_out_ranks(const LayoutRequest& request, const Cluster& cluster,
                                               JobSpec& spec);

/// Errors: kPreflight, with the node's name: the buffers of its ranks (`bytes_per_rank` each)
/// exceed its free memory. A node whose free memory is unknown passes.
[[nodiscard]] Status check_memory(const RankLayout& layout, const Cluster& cluster,
                                  std::uint64_t bytes_per_rank);

}  // namespace dlaunch
