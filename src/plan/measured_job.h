// Over what, and by how many ranks, something is measured between nodes (`dlaunch bench`, `check`):
// decided when their facts are here, before anything is started. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

enum class MeasureBackend { automatic, mpi, nccl };

struct MeasureWish {
  MeasureBackend backend = MeasureBackend::automatic;
  bool has_mpi = false;      // this dlaunch was built with it
  bool has_nccl = false;     // the same
  bool count_given = false;  // by the user, in the job
};

struct MeasurePlace {
  MeasureBackend backend = MeasureBackend::mpi;  // not automatic
  std::vector<std::uint32_t> per_node;           // ranks on each node that is used
  std::uint32_t ranks = 0;
  bool operator==(const MeasurePlace&) const = default;
};

/// NCCL where every node has a GPU that may be used, else MPI. Where no number of ranks is given:
/// NCCL one for each GPU; MPI one a node (or its slots), on a single node two, since one would
/// measure nothing but its own memory. Sets that number in the job. Errors: kPreflight, a back-end
/// was left out of this dlaunch, or NCCL is wanted where a node has no GPU; those of place().
[[nodiscard]] Result<MeasurePlace> place_measurement(const MeasureWish& wish,
                                                     const Cluster& cluster, JobSpec& spec);

/// Errors: kPreflight: the buffers of a node's ranks (`bytes_per_rank` each) are more than its free
/// memory, by name. Memory that is not known counts as enough.
[[nodiscard]] Status check_memory(const MeasurePlace& place, const Cluster& cluster,
                                  std::uint64_t bytes_per_rank);

}  // namespace dlaunch
