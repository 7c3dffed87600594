#include "measure/run/layout.h"

#include <algorithm>
#include <limits>

#include "plan/place.h"
#include "plan/smoke.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// The first node whose ranks would have to share a GPU, which NCCL refuses; null: none.
const Node* with_shared_gpus(const Cluster& cluster, const std::vector<std::uint32_t>& gpus,
                             const std::vector<std::uint32_t>& ranks) {
  for (std::size_t i = 0; i < ranks.size() && i < gpus.size(); ++i) {
    if (ranks[i] > gpus[i]) return &cluster.nodes[i];
  }
  return nullptr;
}

/// The first node without a usable GPU; null: none.
const Node* without_gpu(const Cluster& cluster, const std::vector<std::uint32_t>& gpus) {
  const auto found = std::find(gpus.begin(), gpus.end(), 0U);
  return found == gpus.end()
             ? nullptr
             : &cluster.nodes[static_cast<std::size_t>(std::distance(gpus.begin(), found))];
}

Result<MeasureBackend> choose(const LayoutRequest& request, const Cluster& cluster,
                              const std::vector<std::uint32_t>& gpus) {
  const Node* bare = without_gpu(cluster, gpus);
  if (request.backend == MeasureBackend::nccl) {
    if (!request.has_nccl) {
      return fail(exit_code::kPreflight,
                  "--backend nccl: this dlaunch was built without NCCL (nccl.h and the CUDA "
                  "toolkit were not installed)");
    }
    if (bare != nullptr) {
      return fail(exit_code::kPreflight,
                  "--backend nccl: " + bare->name +
                      " has no usable GPU; to measure over host memory: --backend mpi");
    }
    return MeasureBackend::nccl;
  }
  if (request.backend == MeasureBackend::automatic && bare == nullptr && request.has_nccl)
    return MeasureBackend::nccl;
  if (request.has_mpi) return MeasureBackend::mpi;
  std::string message = "this dlaunch was built without MPI (libopenmpi-dev was not installed)";
  if (request.backend == MeasureBackend::automatic && bare != nullptr)
    message += ", and NCCL needs a GPU on each node: " + bare->name + " has none";
  return fail(exit_code::kPreflight, message);
}

void set_count(const LayoutRequest& request, MeasureBackend backend, const Cluster& cluster,
               JobSpec& spec) {
  const bool has_slots = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                     [](const Node& node) { return node.slots > 0; });
  if (request.ranks_are_set) return;
  if (backend == MeasureBackend::nccl) {
    spec.processes_per_node = {ProcessesPerNode::Kind::gpu, 0};
  } else if (!has_slots) {
    const bool is_alone = cluster.nodes.size() == 1 || (spec.nodes && spec.nodes->max == 1);
    spec.processes_per_node = {ProcessesPerNode::Kind::count, is_alone ? 2 : 1};
  }
}

}  // namespace

Result<RankLayout> lay_out_ranks(const LayoutRequest& request, const Cluster& cluster,
                                 JobSpec& spec) {
  std::vector<std::uint32_t> gpus;
  for (const Node& node : cluster.nodes) gpus.push_back(count_usable_gpus(spec, node.facts));
  const auto backend = choose(request, cluster, gpus);
  if (!backend) return tl::unexpected(backend.error());
  set_count(request, *backend, cluster, spec);
  const auto placed = place(spec, cluster, gpus);
  if (!placed) return tl::unexpected(placed.error());
  RankLayout layout{*backend, placed->per_node, static_cast<std::uint32_t>(placed->ranks.size())};
  if (layout.backend != MeasureBackend::nccl) return layout;
  const Node* shared = with_shared_gpus(cluster, gpus, layout.per_node);
  if (shared != nullptr && request.backend == MeasureBackend::automatic && request.has_mpi) {
    layout.backend = MeasureBackend::mpi;
  } else if (shared != nullptr) {
    return fail(exit_code::kPreflight,
                "NCCL takes only one rank per GPU, but " + shared->name +
                    " has more ranks than GPUs; to measure over host memory: --backend mpi");
  }
  return layout;
}

Status check_memory(const RankLayout& layout, const Cluster& cluster,
                    std::uint64_t bytes_per_rank) {
  for (std::size_t i = 0; i < layout.per_node.size() && i < cluster.nodes.size(); ++i) {
    const std::uint64_t free = cluster.nodes[i].facts.memory_available_bytes;
    const std::uint64_t ranks = layout.per_node[i];
    if (free == 0 || ranks == 0) continue;
    if (bytes_per_rank <= free / ranks) continue;
    const bool overflows = bytes_per_rank > std::numeric_limits<std::uint64_t>::max() /
                                                std::max<std::uint64_t>(ranks, 1);
    return fail(
        exit_code::kPreflight,
        "the buffers of " + counted(ranks, "rank") + " on " + cluster.nodes[i].name + " need " +
            (overflows ? "more memory than any machine has" : size_text(bytes_per_rank * ranks)) +
            ", but only " + size_text(free) +
            " is free; try a smaller --max-bytes, or fewer ranks");
  }
  return {};
}

}  // namespace dlaunch
