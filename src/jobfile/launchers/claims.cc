#include "jobfile/launchers/claims.h"

#include <array>
#include <limits>

#include "text/number.h"

namespace dlaunch::launchers {

namespace {

struct Row {
  Launcher launcher;
  std::string_view rank, size, local_rank, local_size;
};

constexpr std::array kRows{
    Row{Launcher::jsrun, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
        "JSM_NAMESPACE_LOCAL_SIZE"},
    Row{Launcher::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Row{Launcher::mvapich, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    Row{Launcher::hydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};

tl::unexpected<Error> wrong(std::string message) {
  return fail(exit_code::kPreflight, std::move(message));
}

Status check(const Row& row, const Claim& claim) {
  const auto beyond = [](std::string_view name, std::uint32_t value, std::string_view of,
                         std::uint32_t limit) {
    return wrong(std::string(name) + " is " + std::to_string(value) + ", but " + std::string(of) +
                 " is " + std::to_string(limit));
  };
  if (claim.rank >= claim.size) return beyond(row.rank, claim.rank, row.size, claim.size);
  if (claim.local_size && (*claim.local_size > claim.size || *claim.local_size == 0))
    return beyond(row.local_size, *claim.local_size, row.size, claim.size);
  if (claim.local_rank && claim.local_size && *claim.local_rank >= *claim.local_size)
    return beyond(row.local_rank, *claim.local_rank, row.local_size, *claim.local_size);
  if (claim.local_rank && *claim.local_rank > claim.rank)
    return beyond(row.local_rank, *claim.local_rank, row.rank, claim.rank);
  return {};
}

Result<std::optional<Claim>> read(const Row& row, const Environment& env) {
  const auto rank = number_variable(env, row.rank);
  if (!rank) return tl::unexpected(rank.error());
  if (!*rank) {
    const auto size = number_variable(env, row.size);
    if (size && *size)
      return wrong(std::string(row.size) + " is set, but " + std::string(row.rank) + " is not");
    return std::optional<Claim>();
  }
  const auto size = needed_number(env, row.size, row.rank);
  if (!size) return tl::unexpected(size.error());
  const auto local_rank = number_variable(env, row.local_rank);
  if (!local_rank) return tl::unexpected(local_rank.error());
  const auto local_size = number_variable(env, row.local_size);
  if (!local_size) return tl::unexpected(local_size.error());
  Claim claim{row.launcher, **rank, *size, *local_rank, *local_size};
  if (const Status s = check(row, claim); !s) return tl::unexpected(s.error());
  return std::optional(claim);
}

}  // namespace

std::string_view name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::jsrun:
      return "jsrun (LSF)";
    case Launcher::open_mpi:
      return "mpirun (Open MPI)";
    case Launcher::mvapich:
      return "mpirun (MVAPICH)";
    case Launcher::hydra:
      return "mpiexec (Hydra)";
    case Launcher::srun:
      return "srun (Slurm)";
    case Launcher::pbs:
      return "pbsdsh (PBS)";
    case Launcher::kubernetes:
      return "indexed job (Kubernetes)";
  }
  return "";
}

Result<std::optional<std::uint32_t>> number_variable(const Environment& env,
                                                     std::string_view name) {
  const auto text = find_variable(env, name);
  if (!text || text->empty()) return std::optional<std::uint32_t>();
  const auto number = number_of<std::uint32_t>(*text);
  if (!number || *number > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
    return wrong(std::string(name) + " should be a number, but is \"" + *text + '"');
  return number;
}

Result<std::uint32_t> needed_number(const Environment& env, std::string_view name,
                                    std::string_view beside) {
  const auto number = number_variable(env, name);
  if (!number) return tl::unexpected(number.error());
  if (!*number) return wrong(std::string(beside) + " is set, but " + std::string(name) + " is not");
  return **number;
}

Result<std::vector<Claim>> mpi_claims(const Environment& env) {
  std::vector<Claim> claims;
  for (const Row& row : kRows) {
    auto claim = read(row, env);
    if (!claim) return tl::unexpected(claim.error());
    if (*claim) claims.push_back(**claim);
  }
  // With -pmi-port, Hydra gives the rank only over its connection.
  if (claims.empty() && find_variable(env, "PMI_ID") && find_variable(env, "PMI_PORT")) {
    return wrong(
        "PMI_PORT and PMI_ID are set, but PMI_RANK is not: mpiexec was started with -pmi-port\n"
        "         try: mpiexec without -pmi-port");
  }
  return claims;
}

std::string text_of(const Claim& claim) {
  return "rank " + std::to_string(claim.rank) + " of " + std::to_string(claim.size);
}

}  // namespace dlaunch::launchers
