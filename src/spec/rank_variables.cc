#include "spec/rank_variables.h"

#include <algorithm>
#include <array>

namespace dlaunch::spec {

namespace {

// torchrun: the variables of the torch.distributed.run documentation. NODE_RANK: Azure ML,
// Lightning. LOCAL_SIZE, CROSS_RANK, CROSS_SIZE: the DeepSpeed launcher. TF_CONFIG: tf.distribute.
// CLUSTER_SPEC: Vertex AI.
constexpr std::array<std::string_view, 29> kNames{"RANK",
                                                  "LOCAL_RANK",
                                                  "WORLD_SIZE",
                                                  "LOCAL_WORLD_SIZE",
                                                  "NODE_RANK",
                                                  "GROUP_RANK",
                                                  "GROUP_WORLD_SIZE",
                                                  "ROLE_NAME",
                                                  "ROLE_RANK",
                                                  "ROLE_WORLD_SIZE",
                                                  "MASTER_ADDR",
                                                  "MASTER_PORT",
                                                  "LOCAL_SIZE",
                                                  "CROSS_RANK",
                                                  "CROSS_SIZE",
                                                  "TORCHELASTIC_RUN_ID",
                                                  "TORCHELASTIC_RESTART_COUNT",
                                                  "TORCHELASTIC_MAX_RESTARTS",
                                                  "TORCHELASTIC_USE_AGENT_STORE",
                                                  "TORCHELASTIC_ERROR_FILE",
                                                  "TF_CONFIG",
                                                  "CLUSTER_SPEC",
                                                  "PMI_RANK",
                                                  "PMI_SIZE",
                                                  "PMI_FD",
                                                  "PMI_ID",
                                                  "PMI_PORT",
                                                  "MPI_LOCALRANKID",
                                                  "MPI_LOCALNRANKS"};

// HOROVOD_CYCLE_TIME and others are settings, not ranks.
constexpr std::array<std::string_view, 6> kHorovod{"HOROVOD_RANK",       "HOROVOD_SIZE",
                                                   "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
                                                   "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE"};

constexpr std::string_view kOwnPrefix = "DLAUNCH_";
constexpr std::array<std::string_view, 2> kWireUpPrefixes{"OMPI_COMM_WORLD_", "PMIX_"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_rank_variable(Framework framework, std::string_view name) {
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  if (begins(kOwnPrefix)) return true;
  if (framework == Framework::none) return false;
  return std::any_of(kWireUpPrefixes.begin(), kWireUpPrefixes.end(), begins) ||
         contains(kNames, name) || contains(kHorovod, name);
}

std::string rank_variable_pattern(Framework framework) {
  std::string pattern = "^(" + std::string(kOwnPrefix);
  if (framework == Framework::none) return pattern + ")";
  for (const std::string_view prefix : kWireUpPrefixes) pattern += "|" + std::string(prefix);
  pattern += "|(";
  std::string names;
  for (const std::string_view name : kNames)
    names += (names.empty() ? "" : "|") + std::string(name);
  for (const std::string_view name : kHorovod) names += "|" + std::string(name);
  return pattern + names + ")$)";
}

}  // namespace dlaunch::spec
