// The GPUs of a node that a process may use, by the rules of CUDA_VISIBLE_DEVICES (CUDA C++
// Programming Guide, "CUDA Environment Variables").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

struct VisibleGpu {
  std::string id;       // as spelled in the variable: "3", "GPU-8932f937", "MIG-..."
  int numa = -1;        // -1: unknown
  bool is_mig = false;  // a MIG slice; CUDA shows a process only the first slice of its list
  bool operator==(const VisibleGpu&) const = default;
};

/// The GPUs that `variable` selects, in its order (a process numbers them 0, 1, ... in that order).
/// nullopt: all. Entries are indices, UUIDs, unambiguous prefixes of UUIDs ("GPU-8932"), or MIG
/// UUIDs; the list ends before the first entry that is not a GPU of the node or that repeats one.
/// So "", "-1" and "NoDevFiles" select no GPU. On a node without GPUs the result is empty for any
/// value.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(const NodeFacts&,
                                                   const std::optional<std::string>& variable);

/// The entries of `variable` without verification, for a node whose GPUs the agent cannot see (no
/// NVIDIA driver files under /proc, as in WSL): the list ends before the first entry that cannot be
/// a GPU or that repeats one.
[[nodiscard]] std::vector<VisibleGpu> listed_gpus(std::string_view variable);

}  // namespace dlaunch
