// The variables that only dlaunch can set correctly and a job may not set. This is the only list of
// their names; plan/rank_table, which computes the values, does not compile if it sets a name that
// is missing here.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/job_spec.h"

namespace dlaunch {

/// The frameworks for which a name is reserved. With other frameworks general names (PROCESS_ID)
/// belong to the user. With Framework::none all names except DLAUNCH_* belong to the user.
enum class RankVariableOf { all, mpi, jax };

struct RankVariable {
  std::string_view name;
  RankVariableOf of = RankVariableOf::all;
};

// Sources: docs/rules/env-vars.md, sections 1 (torchrun), 2 (MPI), 4.1 (Azure ML), 5 (TF_CONFIG),
// 6 (DeepSpeed), 7 (Horovod; HOROVOD_CYCLE_TIME and the like are settings), 9 and 10 (JAX).
inline constexpr RankVariable kRankVariables[] = {
    {"RANK"},
    {"LOCAL_RANK"},
    {"WORLD_SIZE"},
    {"LOCAL_WORLD_SIZE"},
    {"NODE_RANK"},
    {"GROUP_RANK"},
    {"GROUP_WORLD_SIZE"},
    {"ROLE_NAME"},
    {"ROLE_RANK"},
    {"ROLE_WORLD_SIZE"},
    {"MASTER_ADDR"},
    {"MASTER_PORT"},
    {"LOCAL_SIZE"},
    {"CROSS_RANK"},
    {"CROSS_SIZE"},
    {"TORCHELASTIC_RUN_ID"},
    {"TORCHELASTIC_RESTART_COUNT"},
    {"TORCHELASTIC_MAX_RESTARTS"},
    {"TORCHELASTIC_USE_AGENT_STORE"},
    {"TORCHELASTIC_ERROR_FILE"},
    {"TF_CONFIG"},
    {"CLUSTER_SPEC"},
    {"PMI_RANK"},
    {"PMI_SIZE"},
    {"PMI_FD"},
    {"PMI_ID"},
    {"PMI_PORT"},
    {"MPI_LOCALRANKID"},
    {"MPI_LOCALNRANKS"},
    {"HOROVOD_RANK"},
    {"HOROVOD_SIZE"},
    {"HOROVOD_LOCAL_RANK"},
    {"HOROVOD_LOCAL_SIZE"},
    {"HOROVOD_CROSS_RANK"},
    {"HOROVOD_CROSS_SIZE"},
    {"OMPI_UNIVERSE_SIZE", RankVariableOf::mpi},
    {"JSM_JSRUN_PORT", RankVariableOf::mpi},
    {"AZ_BATCH_MASTER_NODE", RankVariableOf::mpi},
    {"AZ_BATCH_HOST_LIST", RankVariableOf::mpi},
    {"AZ_BATCHAI_MPI_MASTER_NODE", RankVariableOf::mpi},
    {"OMPI_MCA_orte_hnp_uri", RankVariableOf::jax},
    {"JAX_COORDINATOR_ADDRESS", RankVariableOf::jax},
    {"COORDINATOR_ADDRESS", RankVariableOf::jax},
    {"COORDINATOR_PORT", RankVariableOf::jax},
    {"NUM_PROCESSES", RankVariableOf::jax},
    {"PROCESS_ID", RankVariableOf::jax},
};

inline constexpr std::string_view kOwnVariablePrefix = "DLAUNCH_";
inline constexpr std::array<std::string_view, 2> kWireUpPrefixes{"OMPI_COMM_WORLD_", "PMIX_"};

[[nodiscard]] constexpr bool applies(RankVariableOf of, Framework framework) {
  if (framework == Framework::none) return false;
  if (of == RankVariableOf::mpi)
    return framework == Framework::mpi || framework == Framework::horovod;
  return of == RankVariableOf::all || framework == Framework::jax;
}

/// False for variables that a user may set: OMP_NUM_THREADS, PYTHONUNBUFFERED, NCCL_*, and
/// CUDA_VISIBLE_DEVICES, a restriction that dlaunch respects.
[[nodiscard]] constexpr bool is_rank_variable(Framework framework, std::string_view name) {
  if (name.starts_with(kOwnVariablePrefix)) return true;
  if (framework == Framework::none) return false;
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kWireUpPrefixes.begin(), kWireUpPrefixes.end(), begins) ||
         std::any_of(std::begin(kRankVariables), std::end(kRankVariables),
                     [&](const RankVariable& one) {
                       return one.name == name && applies(one.of, framework);
                     });
}

/// The same as a regular expression (ECMA-262) for the JSON Schema.
[[nodiscard]] std::string rank_variable_pattern(Framework framework);

/// The descriptor of a rank's PMI-1 socket to its agent (PMI_FD): above those that scripts use by
/// number (0 to 9) and that shells allocate first (10).
inline constexpr int kPmiDescriptor = 29;

}  // namespace dlaunch
