// Cores for the ranks of one node.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"

namespace dlaunch {

struct CoreBinding {
  std::vector<std::vector<int>>
      cpus;                     // index = local rank; logical CPUs, ascending; empty: not bound
  std::string note;             // how ranks are bound, or why not
  bool is_crowded_out = false;  // not bound, but only because another run holds cores
  bool operator==(const CoreBinding&) const = default;
};

/// `homes` has one element per local rank: the NUMA node of its GPU, or -1.
///
/// Ranks never share physical cores, and a rank gets all allowed hardware threads of its cores.
/// Cores that another run holds are not used. A rank with a home gets cores of its home if the home
/// has a core for each of its ranks; the other ranks are distributed so that cores per rank are as
/// even as possible, in order of rank and NUMA node. Within a NUMA node the free cores are cut into
/// contiguous blocks whose sizes differ by at most one. With fewer ranks than NUMA nodes, and no
/// homes, a rank gets several whole NUMA nodes. With more ranks than free cores, or with
/// `binding.cpus: none`, no rank is bound.
[[nodiscard]] CoreBinding bind_ranks(const NodeFacts&, const std::vector<int>& homes,
                                     Binding::Cpus);

/// OMP_NUM_THREADS for each of `ranks` ranks: max(1, floor(cores / ranks)), where cores are the
/// free physical cores if there is one for each rank, else all allowed physical cores. Does not
/// depend on binding, so that two runs on a node never oversubscribe it.
[[nodiscard]] int threads_per_rank(const NodeFacts&, std::size_t ranks);

/// The number of cores that threads_per_rank() divides among the ranks.
[[nodiscard]] std::size_t cores_to_share(const NodeFacts&, std::size_t ranks);

}  // namespace dlaunch
