#include "node/mpi/join_protocol.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>

#include "plan/inherited_env.h"
#include "text/number.h"
#include "wire/value.h"

namespace dlaunch {

namespace wire {

template <>
inline constexpr auto kFields<Joining> =
    std::tuple{field("rank", &Joining::rank, kRank),
               field("world", &Joining::world, {0, kRank.max + 1}),
               field("parent", &Joining::parent, {0, kPid.max}),
               field("cpus", &Joining::cpus, kCpu),
               field("has_pmi", &Joining::has_pmi),
               field("variables", &Joining::variables)};

template <>
inline constexpr auto kFields<JoinAnswer> =
    std::tuple{field("status", &JoinAnswer::status), field("refused", &JoinAnswer::refused)};

}  // namespace wire

namespace {

/// The first of the variables that is set; nullopt if none is, or it is not a number up to `most`.
std::optional<std::uint32_t> first_of(const Environment& environment,
                                      std::initializer_list<const char*> names, std::int64_t most) {
  for (const char* name : names) {
    const auto text = find_variable(environment, name);
    if (!text || text->empty()) continue;
    const auto value = number_of<std::uint32_t>(*text);
    return value && *value <= most ? value : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const Joining& joining) {
  return wire::encode_value(joining);
}

std::optional<Joining> decode_joining(std::string_view bytes) {
  auto joining = wire::decode_value<Joining>(bytes);
  const bool is_valid =
      joining && std::all_of(joining->variables.begin(), joining->variables.end(),
                             [](const auto& one) { return is_of_mpi_launcher(one.first); });
  return is_valid ? std::move(joining) : std::nullopt;
}

std::string other_world(const Joining& joining, std::uint32_t planned) {
  if (joining.world == 0 || joining.world == planned) return {};
  return "mpirun started " + std::to_string(joining.world) + " ranks, but the job has " +
         std::to_string(planned) +
         ": a wrapper, a configuration file or the allocation that mpirun runs in overrides the "
         "number that dlaunch gives it (-np, hosts, slots)";
}

std::string encode(const JoinAnswer& answer) {
  return wire::encode_value(answer);
}

std::optional<JoinAnswer> decode_join_answer(std::string_view bytes) {
  return wire::decode_value<JoinAnswer>(bytes);
}

Result<Joining> joining_from(const Environment& environment) {
  const auto rank =
      first_of(environment, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, wire::kRank.max);
  if (!rank) {
    return fail(
        exit_code::kPreflight,
        "--join is for processes that mpirun starts for `dlaunch run` (mpi.launcher: mpirun), "
        "but mpirun did not start this one: none of OMPI_COMM_WORLD_RANK, PMIX_RANK, "
        "PMI_RANK is set");
  }
  Joining joining;
  joining.rank = Rank(*rank);
  joining.world =
      first_of(environment, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, wire::kRank.max + 1).value_or(0);
  for (const auto& [name, value] : environment) {
    if (is_of_mpi_launcher(name)) joining.variables.emplace(name, value);
  }
  return joining;
}

std::string join_socket(const std::string& folder) {
  return folder + "/agent";
}

std::string join_program(const std::string& folder) {
  return folder + "/dlaunch";
}

}  // namespace dlaunch
