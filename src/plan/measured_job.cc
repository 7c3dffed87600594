#include "plan/measured_job.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/place.h"
#include "plan/smoke.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

/// The first node on which ranks would have to share a GPU, which NCCL refuses; null: none.
const Node* with_shared_gpus(const Cluster& cluster, const std::vector<std::uint32_t>& gpus,
                             const std::vector<std::uint32_t>& ranks) {
  for (std::size_t i = 0; i < ranks.size() && i < gpus.size(); ++i) {
    if (ranks[i] > gpus[i]) return &cluster.nodes[i];
  }
  return nullptr;
}

/// The first node without a GPU; null: each has one.
const Node* without_gpu(const Cluster& cluster, const std::vector<std::uint32_t>& gpus) {
  const auto found = std::find(gpus.begin(), gpus.end(), 0U);
  return found == gpus.end()
             ? nullptr
             : &cluster.nodes[static_cast<std::size_t>(std::distance(gpus.begin(), found))];
}

Result<MeasureBackend> choose(const MeasureWish& wish, const Cluster& cluster,
                              const std::vector<std::uint32_t>& gpus) {
  const Node* bare = without_gpu(cluster, gpus);
  if (wish.backend == MeasureBackend::nccl) {
    if (!wish.has_nccl) {
      return fail(exit_code::kPreflight,
                  "--backend nccl: this dlaunch was built without NCCL (nccl.h and the CUDA "
                  "toolkit were not there)");
    }
    if (bare != nullptr) {
      return fail(exit_code::kPreflight,
                  "--backend nccl: " + bare->name +
                      " has no GPU that may be used; over the host's memory: --backend mpi");
    }
    return MeasureBackend::nccl;
  }
  if (wish.backend == MeasureBackend::automatic && bare == nullptr && wish.has_nccl)
    return MeasureBackend::nccl;
  if (wish.has_mpi) return MeasureBackend::mpi;
  std::string message = "this dlaunch was built without MPI (libopenmpi-dev was not there)";
  if (wish.backend == MeasureBackend::automatic && bare != nullptr)
    message += ", and NCCL needs a GPU on each node: " + bare->name + " has none";
  return fail(exit_code::kPreflight, message);
}

void set_count(const MeasureWish& wish, MeasureBackend backend, const Cluster& cluster,
               JobSpec& spec) {
  const bool has_slots = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                     [](const Node& node) { return node.slots > 0; });
  if (wish.count_given) return;
  if (backend == MeasureBackend::nccl) {
    spec.processes_per_node = {ProcessesPerNode::Kind::gpu, 0};
  } else if (!has_slots) {
    const bool is_alone = cluster.nodes.size() == 1 || (spec.nodes && spec.nodes->max == 1);
    spec.processes_per_node = {ProcessesPerNode::Kind::count, is_alone ? 2 : 1};
  }
}

}  // namespace

Result<MeasurePlace> place_measurement(const MeasureWish& wish, const Cluster& cluster,
                                       JobSpec& spec) {
  std::vector<std::uint32_t> gpus;
  for (const Node& node : cluster.nodes) gpus.push_back(count_usable_gpus(spec, node.facts));
  const auto backend = choose(wish, cluster, gpus);
  if (!backend) return tl::unexpected(backend.error());
  set_count(wish, *backend, cluster, spec);
  const auto placed = place(spec, cluster, gpus);
  if (!placed) return tl::unexpected(placed.error());
  MeasurePlace found{*backend, placed->per_node, static_cast<std::uint32_t>(placed->ranks.size())};
  if (found.backend != MeasureBackend::nccl) return found;
  const Node* shared = with_shared_gpus(cluster, gpus, found.per_node);
  if (shared != nullptr && wish.backend == MeasureBackend::automatic && wish.has_mpi) {
    found.backend = MeasureBackend::mpi;
  } else if (shared != nullptr) {
    return fail(exit_code::kPreflight,
                "NCCL takes one rank a GPU, and there are fewer GPUs than "
                "ranks on " +
                    shared->name + "; over the host's memory: --backend mpi");
  }
  return found;
}

Status check_memory(const MeasurePlace& place, const Cluster& cluster,
                    std::uint64_t bytes_per_rank) {
  for (std::size_t i = 0; i < place.per_node.size() && i < cluster.nodes.size(); ++i) {
    const std::uint64_t there = cluster.nodes[i].facts.memory_available_bytes;
    const std::uint64_t ranks = place.per_node[i];
    if (there == 0 || ranks == 0) continue;
    if (bytes_per_rank <= there / ranks) continue;
    const bool overflows = bytes_per_rank > std::numeric_limits<std::uint64_t>::max() /
                                                std::max<std::uint64_t>(ranks, 1);
    return fail(
        exit_code::kPreflight,
        "the buffers of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + " on " +
            cluster.nodes[i].name + " need " +
            (overflows ? "more than there is anywhere" : size_text(bytes_per_rank * ranks)) +
            ", and " + size_text(there) +
            " are free there; try a smaller --max-bytes, or fewer ranks");
  }
  return {};
}

}  // namespace dlaunch
