// The inherited part of a rank's environment. Ranks on other nodes get some of the launcher's
// variables, if their folders exist there (docs/reference/nodes.md, "Environment"; the node decides
// this: node/ranks/carried_environment.h). Variables that an outer launcher gave to dlaunch itself
// are removed. Pure.
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

/// The carried variables that are offered to the ranks of a node, with reasons; none on the
/// launcher's own machine.
[[nodiscard]] std::vector<Variable> carried_to(const LaunchPlan&, NodeRank);

/// Variables in which sshd and the login shell describe their connection and folder. Ranks do not
/// get them, because ranks outlive the connection and start in the workdir.
[[nodiscard]] const std::vector<std::string>& login_session_variables();

/// Names, and patterns with '*', of the removed variables; the same for every framework. Under
/// `srun dlaunch run ...` or in a Kubeflow pod, each rank would otherwise take itself for the
/// single process that the outer launcher started. dlaunch's own variables, and those that the user
/// passes by full name, are set afterwards.
[[nodiscard]] const std::vector<std::string>& scrub_list();

/// The list for an MPI program that another launcher has started. It omits the variables that an
/// MPI library reads, so that ranks keep them: those of PMI, PMIx, Open MPI and MVAPICH, and those
/// of a Slurm task and of jsrun, which serve PMI themselves.
[[nodiscard]] std::vector<std::string> scrub_list_for_mpi();

/// Whether a launcher of MPI programs (mpirun, mpiexec) tells each process its rank or its server
/// in this variable: dlaunch must forward it if it starts the process in the launcher's stead.
[[nodiscard]] bool is_of_mpi_launcher(std::string_view name);

[[nodiscard]] bool is_scrubbed(std::string_view name);

}  // namespace dlaunch
