// Cores for the ranks of one node.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"

namespace dlaunch {

struct CoreBinding {
  std::vector<std::vector<int>>
      cpus;                     // index = local rank: logical CPUs, ascending; empty: not bound
  std::string note;             // how ranks are bound, or why they are not
  bool is_crowded_out = false;  // they are not, and would be if no other run held cores
  bool operator==(const CoreBinding&) const = default;
};

/// `homes` has one element per local rank: the NUMA node of its GPU, or -1.
///
/// Physical cores are never shared between ranks, and a rank gets all allowed hardware threads of
/// its cores. Cores that another run holds are not used. A rank with a home gets cores there, as
/// long as the home has one core for each of its ranks; all others are dealt out so that cores per
/// rank are as even as can be, in order of rank and NUMA node. Within a NUMA node the free cores
/// are cut into contiguous blocks whose sizes differ by one at most. With fewer ranks than NUMA
/// nodes, and no homes, a rank gets several whole NUMA nodes. Nobody is bound when there are more
/// ranks than free cores, or when the job says `binding.cpus: none`.
[[nodiscard]] CoreBinding bind_ranks(const NodeFacts&, const std::vector<int>& homes,
                                     Binding::Cpus);

/// OMP_NUM_THREADS of each of `ranks` ranks: max(1, floor(cores / ranks)), where cores are the free
/// physical cores when every rank can have one of them, else all allowed physical cores.
/// Independent of whether ranks are bound, so that two runs side by side do not oversubscribe the
/// node either way.
[[nodiscard]] int threads_per_rank(const NodeFacts&, std::size_t ranks);

/// The number of cores that threads_per_rank divides.
[[nodiscard]] std::size_t cores_to_share(const NodeFacts&, std::size_t ranks);

}  // namespace dlaunch
