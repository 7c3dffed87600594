// What is removed from the environment that ranks inherit: the identity that an outer launcher gave
// to dlaunch itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// Names and patterns with '*', the same for every framework: under `srun dlaunch run ...` or in a
/// Kubeflow pod each rank would else believe that it is the one process that the outer launcher
/// started. What dlaunch sets itself is set after this, and so is what the user passes on by its
/// full name.
[[nodiscard]] const std::vector<std::string>& scrub_list();

/// The list for an MPI program under another launcher, which stays the one that starts it: without
/// what an MPI library reads (PMI, PMIx, Open MPI's and MVAPICH's names; those of a Slurm task and
/// of jsrun, which serve PMI themselves).
[[nodiscard]] std::vector<std::string> scrub_list_for_mpi();

/// Variables by which a launcher of MPI programs (mpirun, mpiexec) tells each process its place and
/// its server: what such a process must be given when somebody else starts it in its place.
[[nodiscard]] bool is_of_mpi_launcher(std::string_view name);

[[nodiscard]] bool is_scrubbed(std::string_view name);

}  // namespace dlaunch
