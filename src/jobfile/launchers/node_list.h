// The nodes that a launcher or its scheduler names, in the order in which mpirun fills them, and
// the node of a process whose launcher gives only its rank and its local rank.
#pragma once

#include <functional>
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

/// Sets the node of a world whose rank, size, local rank and local size are known, and its hosts as
/// far as `list` names them. `is_own`: whether a name is this machine's.
///
/// Tries two layouts: nodes filled by their slots in the order of the list, and equally many
/// ranks on each node, node by node. Each rank verifies its own position: the host at that position
/// in the list, and the number of its neighbours. Because all ranks do so, some rank refuses a
/// wrong layout.
///
/// Errors (exit_code::kPreflight): this machine is not in the list; ranks are distributed in
/// another way (--map-by node), or unevenly without a list that describes it.
[[nodiscard]] Status find_node(const std::optional<NodeList>& list,
                               const std::function<bool(std::string_view)>& is_own, World& world);

}  // namespace dlaunch::launchers
