// Variables removed from the environment that ranks inherit: the identity that an outer launcher
// gave dlaunch itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

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
