// The environment of a process under each launcher. Open MPI and Hydra: as Debian 12's programs
// (4.1.4, 4.0.2) set it. srun: srun(1) of Slurm 22.05, "OUTPUT ENVIRONMENT VARIABLES". pbsdsh:
// Torque's PBS_VNODENUM ("ordinal number of the vnode", pbsdsh(1)), OpenPBS' pbs_job_attributes(7).
// jsrun: IBM Job Step Manager, as Lightning's LSFEnvironment reads it. Azure Batch: "Multi-instance
// tasks", environment variables. Kubernetes: "Job with Pod-to-Pod Communication".
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "jobfile/launchers/inherited_world.h"

namespace dlaunch::launchers::test {

inline std::string text(std::uint32_t number) {
  return std::to_string(number);
}

inline Environment open_mpi_4(std::uint32_t rank, std::uint32_t size, std::uint32_t local_rank,
                              std::uint32_t local_size) {
  return {{"OMPI_COMM_WORLD_RANK", text(rank)},
          {"OMPI_COMM_WORLD_SIZE", text(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", text(local_rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", text(local_size)},
          {"OMPI_COMM_WORLD_NODE_RANK", text(local_rank)},
          {"OMPI_MCA_ess_base_jobid", "958267393"},
          {"PMIX_NAMESPACE", "958267393"},
          {"PMIX_RANK", text(rank)}};
}

inline Environment open_mpi_5(std::uint32_t rank, std::uint32_t size, std::uint32_t local_rank,
                              std::uint32_t local_size) {
  Environment env = open_mpi_4(rank, size, local_rank, local_size);
  env.erase("OMPI_MCA_ess_base_jobid");
  env["PMIX_NAMESPACE"] = "prterun-node01-4711@1";
  env["PRTE_LAUNCHED"] = "1";
  return env;
}

inline Environment hydra(std::uint32_t rank, std::uint32_t size, std::uint32_t local_rank,
                         std::uint32_t local_size) {
  return {{"PMI_RANK", text(rank)},
          {"PMI_SIZE", text(size)},
          {"PMI_FD", "8"},
          {"MPI_LOCALRANKID", text(local_rank)},
          {"MPI_LOCALNRANKS", text(local_size)}};
}

/// Task `rank` of a step on node[01-02] with 3 and 1 tasks.
inline Environment srun_3_and_1(std::uint32_t rank) {
  const std::uint32_t node = rank < 3 ? 0 : 1;
  return {{"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", text(rank)},
          {"SLURM_LOCALID", text(node == 0 ? rank : 0)},
          {"SLURM_NODEID", text(node)},
          {"SLURM_NTASKS", "4"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_TASKS_PER_NODE", "3,1"},
          {"SLURM_STEP_NODELIST", "node[01-02]"},
          {"SLURM_JOB_NODELIST", "node[01-03]"},
          {"SLURMD_NODENAME", node == 0 ? "node01" : "node02"}};
}

inline Environment operator+(Environment env, const Environment& more) {
  for (const auto& [name, value] : more) env[name] = value;
  return env;
}

inline WorldInput input_on(const std::string& hostname, Environment env,
                           std::map<std::string, std::string> files = {}) {
  WorldInput input;
  input.environment = std::move(env);
  input.hostname = hostname;
  input.addresses = {"127.0.0.1", "10.0.0.5"};
  input.command = {"python", "train.py"};
  input.read_file = [files = std::move(files)](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return fail(exit_code::kJobFile,
                "cannot read the file " + path + ": No such file or directory");
  };
  return input;
}

/// "rank 3/4 local 0/1 node 1/2 master node01 (first host of X) job slurm-77.0"
inline std::string shown(const Result<World>& world) {
  if (!world) return world.error().message;
  const auto pair = [](std::uint32_t a, std::uint32_t b) { return text(a) + "/" + text(b); };
  return "rank " + pair(world->rank, world->size) + " local " +
         pair(world->local_rank, world->local_size) + " node " + pair(world->node, world->nodes) +
         " master " + world->master + " (" + world->master_reason + ") job " + world->job_id;
}

}  // namespace dlaunch::launchers::test
