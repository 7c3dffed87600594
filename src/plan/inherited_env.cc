#include "plan/inherited_env.h"

#include <algorithm>
#include <iterator>

#include "model/environment.h"

namespace dlaunch {

Environment carried_variables(const Environment& launcher_env) {
  Environment carried;
  const bool conda = launcher_env.contains("CONDA_PREFIX");
  const bool venv = launcher_env.contains("VIRTUAL_ENV");
  for (const auto& [name, value] : launcher_env) {
    const bool is_path = name == "PATH" || name == "LD_LIBRARY_PATH";
    if ((is_path && !value.empty()) || (conda && name.starts_with("CONDA_")) ||
        (venv && name.starts_with("VIRTUAL_ENV")))
      carried.emplace(name, value);
  }
  return carried;
}

std::string_view carried_reason(std::string_view name) {
  if (name.starts_with("CONDA_")) return "from the launcher, if CONDA_PREFIX exists on the node";
  if (name.starts_with("VIRTUAL_ENV"))
    return "from the launcher, if that folder exists on the node";
  return "from the launcher: entries that exist on the node; then the node's own";
}

std::vector<Variable> carried_to(const LaunchPlan& plan, NodeRank node) {
  std::vector<Variable> variables;
  if (!plan.nodes[node.value].is_remote) return variables;
  for (const auto& [name, value] : plan.carried)
    variables.push_back({name, value, VariableSource::carried, std::string(carried_reason(name))});
  return variables;
}

const std::vector<std::string>& login_session_variables() {
  // sshd(8), "ENVIRONMENT". SSH_AUTH_SOCK stays: agent forwarding is intentional.
  static const std::vector<std::string> kList = {"SSH_CLIENT", "SSH_CONNECTION",
                                                 "SSH_ORIGINAL_COMMAND", "SSH_TTY", "OLDPWD"};
  return kList;
}

const std::vector<std::string>& scrub_list() {
  static const std::vector<std::string> kList = {
      // torchrun, DeepSpeed, Azure ML
      "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
      "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE", "TORCHELASTIC_*",
      "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE",
      // Kubeflow sets these for torchrun itself; they would contradict the nodes of this run
      "PET_NODE_RANK", "PET_NNODES", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_RDZV_*",
      // TensorFlow
      "TF_CONFIG",
      // AI Platform, Vertex AI
      "CLUSTER_SPEC",
      // Slurm, of dlaunch's own task
      "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_TASK_PID", "SLURM_GTIDS",
      "SLURMD_NODENAME", "SLURM_STEP*", "SLURM_SRUN_COMM_*", "SLURM_LAUNCH_NODE_IPADDR",
      "SLURM_TOPOLOGY_ADDR*", "SLURM_CPU_BIND*", "SLURM_PRIO_PROCESS", "SLURM_MPI_TYPE",
      "SLURM_PMI*", "SLURM_*_PACK_GROUP_*", "SRUN_DEBUG", "SLURM_UMASK", "SLURM_RLIMIT_*",
      "SLURM_DISTRIBUTION",
      // Slurm, of the agent's step, which has one process
      "SLURM_NTASKS", "SLURM_NTASKS_PER_*", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_TASKS_PER_NODE",
      "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK",
      // MPI: if an MPI library finds these, it tries to use the outer launcher's sockets
      "PMI_*", "PMIX_*", "OMPI_COMM_WORLD_*", "OMPI_MCA_orte_*", "OMPI_MCA_ess_*",
      "OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_APP_CTX_NUM_PROCS",
      "OMPI_FILE_LOCATION", "OMPI_WORLD_*", "OMPI_COMMAND", "OMPI_ARGV", "OMPI_MCA_ess",
      "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir", "OMPI_MCA_num_procs", "PRTE_LAUNCHED",
      "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_*", "HYDI_CONTROL_FD", "HYDRA_BSTRAP_*",
      "I_MPI_HYDRA_UUID", "I_MPI_INFO_*", "I_MPI_PIN_INFO", "I_MPI_PIN_MAPPING",
      // Horovod, LSF's jsrun
      "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_*", "HOROVOD_CROSS_*",
      "HOROVOD_GLOO_RENDEZVOUS_*",
      // jsrun (Open MPI 4 takes JSM_JSRUN_PORT alone as a sign of a PMIx server), PALS of HPE
      "JSM_*", "PALS_*"};
  return kList;
}

std::vector<std::string> scrub_list_for_mpi() {
  constexpr std::string_view kOfSchedulers[] = {"SLURM_", "SLURMD_", "SRUN_", "JSM_", "PALS_"};
  std::vector<std::string> list;
  for (const std::string& pattern : scrub_list()) {
    const bool is_of_scheduler =
        std::any_of(std::begin(kOfSchedulers), std::end(kOfSchedulers),
                    [&](std::string_view prefix) { return pattern.starts_with(prefix); });
    if (!is_of_scheduler && !is_of_mpi_launcher(pattern)) list.push_back(pattern);
  }
  return list;
}

// PMI-1 and PMI-2 (MPICH's wiki, "PMI v2 API"), PMIx standard 4.1 ("Environment Variables"),
// mpirun(1) of Open MPI, PRRTE, Hydra (src/pm/hydra), the MVAPICH2 user guide, Intel MPI.
bool is_of_mpi_launcher(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"PMI_",  "PMIX_", "OMPI_", "ORTE_",  "OPAL_",
                                            "PRTE_", "HYDI_", "MV2_",  "I_MPI_", "MPI_LOCAL"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_scrubbed(std::string_view name) {
  const auto& list = scrub_list();
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& p) { return matches_pattern(p, name); });
}

}  // namespace dlaunch
