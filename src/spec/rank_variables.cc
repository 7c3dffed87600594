#include "spec/rank_variables.h"

#include <algorithm>
#include <array>

namespace dlaunch {

namespace {

// torchrun: the variables of the torch.distributed.run documentation. NODE_RANK: Azure ML,
// Lightning. LOCAL_SIZE, CROSS_RANK, CROSS_SIZE: the DeepSpeed launcher. TF_CONFIG: tf.distribute.
// CLUSTER_SPEC: Vertex AI.
constexpr std::array<std::string_view, 24> kNames{"RANK",
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
                                                  "PMI_SIZE"};

// Open MPI and PMIx: the wire-up of an MPI library. HOROVOD_RANK and relatives end in _RANK or
// _SIZE.
constexpr std::array<std::string_view, 3> kPrefixes{"DLAUNCH_", "OMPI_COMM_WORLD_", "PMIX_"};
constexpr std::array<std::string_view, 6> kHorovod{"HOROVOD_RANK",       "HOROVOD_SIZE",
                                                   "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
                                                   "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_rank_variable(std::string_view name) {
  const bool has_prefix =
      std::any_of(kPrefixes.begin(), kPrefixes.end(),
                  [name](std::string_view prefix) { return name.starts_with(prefix); });
  return has_prefix || contains(kNames, name) || contains(kHorovod, name);
}

}  // namespace dlaunch
