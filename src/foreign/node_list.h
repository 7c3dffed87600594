// The nodes that a launcher or its scheduler names, in the order in which mpirun would fill them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/claims.h"
#include "foreign/world.h"
#include "model/result.h"

namespace dlaunch::foreign {

struct NodeList {
  std::string origin;            // the variable: "PBS_NODEFILE"
  std::vector<WorldHost> hosts;  // ranks 0: how many is not said
};

/// The variable by which `dlaunch export mpirun` names the hosts to each rank, with their
/// processes: "node01:3,node02:1". Names need not be those of the machines.
inline constexpr std::string_view kOwnHosts = "DLAUNCH_HOSTS";

/// The list of kOwnHosts; nullopt: it is not set.
[[nodiscard]] Result<std::optional<NodeList>> own_nodes(const Environment&);

/// For a launcher of mpi_claims(); nullopt where nobody names nodes.
///   jsrun            LSB_DJOB_RANKFILE without its first line, which is the node that the job's
///                    script runs on (LSF with Job Step Manager)
///   all others       what `hosts: auto` reads (spec/scheduler_hosts.h); SLURM_JOB_NODELIST with
///                    the slots of SLURM_TASKS_PER_NODE
/// Errors (exit_code::kPreflight): the list cannot be read, such as a PBS_NODEFILE that only the
/// first node has.
[[nodiscard]] Result<std::optional<NodeList>> scheduler_nodes(Launcher, const WorldInput&);

/// Lines of a PBS_NODEFILE, one for each process; without comments and blanks.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace dlaunch::foreign
