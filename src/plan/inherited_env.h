// The inherited part of a rank's environment: the launcher's variables that ranks on other nodes
// get if the folders exist there (docs/reference/nodes.md, "Environment"; the node decides:
// node/ranks/carried_environment.h), and the variables that are removed because an outer launcher
// gave them to dlaunch itself. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// PATH, LD_LIBRARY_PATH, VIRTUAL_ENV*, and CONDA_* if CONDA_PREFIX is set.
[[nodiscard]] Environment carried_variables(const Environment& launcher_env);

/// Explains what the node does with a carried variable.
[[nodiscard]] std::string_view carried_reason(std::string_view name);

/// The variables offered to the ranks of a node, with reasons; none on the launcher's own machine.
[[nodiscard]] std::vector<Variable> carried_to(const LaunchPlan&, NodeRank);

/// Variables of sshd and the login shell about their connection and folder. Ranks do not get them:
/// they outlive the connection and start in the workdir.
[[nodiscard]] const std::vector<std::string>& login_session_variables();

/// Names and patterns with '*', the same for every framework: under `srun dlaunch run ...` or in a
/// Kubeflow pod each rank would otherwise take itself for the single process that the outer
/// launcher started. dlaunch's own variables are set after this, and so are variables that the user
/// passes by full name.
[[nodiscard]] const std::vector<std::string>& scrub_list();

/// The list for an MPI program under another launcher, which remains its starter: keeps the
/// variables that an MPI library reads (PMI, PMIx, Open MPI's and MVAPICH's names; those of a Slurm
/// task and of jsrun, which serve PMI themselves).
[[nodiscard]] std::vector<std::string> scrub_list_for_mpi();

/// Variables in which a launcher of MPI programs (mpirun, mpiexec) gives each process its rank and
/// its server: dlaunch must forward them if it starts the process in the launcher's stead.
[[nodiscard]] bool is_of_mpi_launcher(std::string_view name);

[[nodiscard]] bool is_scrubbed(std::string_view name);

}  // namespace dlaunch
