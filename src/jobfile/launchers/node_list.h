// The nodes that a launcher or its scheduler names, in the order in which mpirun fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/launchers/claims.h"
#include "jobfile/launchers/inherited_world.h"
#include "model/result.h"

namespace dlaunch::launchers {

struct NodeList {
  std::string origin;            // the variable: "PBS_NODEFILE"
  std::vector<WorldHost> hosts;  // ranks 0: number unknown
};

/// The variable in which `dlaunch export mpirun` gives each rank the hosts with their numbers of
/// processes: "node01:3,node02:1". The names may be aliases.
inline constexpr std::string_view kOwnHosts = "DLAUNCH_HOSTS";

/// The list in kOwnHosts; nullopt: unset.
[[nodiscard]] Result<std::optional<NodeList>> own_nodes(const Environment&);

/// The nodes for a launcher of mpi_claims(); nullopt if no variable names them.
/// jsrun            LSB_DJOB_RANKFILE without its first line, the node of the job script
///                  (LSF with Job Step Manager)
/// all others       the sources of `hosts: auto` (jobfile/scheduler_hosts.h); SLURM_JOB_NODELIST
///                  with the slots of SLURM_TASKS_PER_NODE
/// Errors (exit_code::kPreflight): an unreadable list, for example a PBS_NODEFILE that only the
/// first node has.
[[nodiscard]] Result<std::optional<NodeList>> scheduler_nodes(Launcher, const WorldInput&);

/// Lines of a PBS_NODEFILE, one per process; without comments and blanks.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

/// Whether the name is the machine's own, with or without its domain ("gpu01" and
/// "gpu01.cluster.local"), or one of its addresses. Two names with different domains are two
/// machines.
[[nodiscard]] bool is_own_host(std::string_view name, std::string_view hostname,
                               const std::vector<std::string>& addresses);

}  // namespace dlaunch::launchers
