// What each launcher's variables say about this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/result.h"

namespace dlaunch::launchers {

enum class Launcher { jsrun, open_mpi, mvapich, hydra, srun, pbs, kubernetes };

struct Claim {
  Launcher launcher = Launcher::open_mpi;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::optional<std::uint32_t> local_rank;
  std::optional<std::uint32_t> local_size;
  bool operator==(const Claim&) const = default;
};

[[nodiscard]] std::string_view name_of(Launcher);

/// A variable that must be a number below 2^31; nullopt: unset or empty. Errors
/// (exit_code::kPreflight) name the variable and its value.
[[nodiscard]] Result<std::optional<std::uint32_t>> number_variable(const Environment&,
                                                                   std::string_view name);

/// The same, but unset is an error because `beside` is set.
[[nodiscard]] Result<std::uint32_t> needed_number(const Environment&, std::string_view name,
                                                  std::string_view beside);

/// The claims of launchers that give each process a rank and the number of ranks, in the order of
/// Launcher:
/// jsrun     JSM_NAMESPACE_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (IBM Job Step Manager)
/// Open MPI  OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (mpirun(1), "Exported
///           Environment Variables"; Open MPI 4 and 5)
/// MVAPICH   MV2_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (MVAPICH2 user guide)
/// Hydra     PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS (MPICH, src/pm/hydra; Intel
///           MPI)
/// Errors (exit_code::kPreflight): a rank without a size, a non-number, a rank that is not below
/// its size, a local size above the size, PMI_ID alone (mpiexec -pmi-port).
[[nodiscard]] Result<std::vector<Claim>> mpi_claims(const Environment&);

/// "rank 3 of 8"
[[nodiscard]] std::string text_of(const Claim&);

}  // namespace dlaunch::launchers
