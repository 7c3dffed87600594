// The world that another launcher (mpirun, srun, pbsdsh, jsrun, Kubernetes) has set up for this
// process, derived from its environment, its machine's name and addresses, and a few files. Pure:
// the caller passes all of these in, files through `read_file`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/result.h"

namespace dlaunch::launchers {

/// The inputs. `read_file` returns a small file as a whole, or an error with its path.
struct WorldInput {
  Environment environment;
  std::string hostname;                // uname(2)
  std::vector<std::string> addresses;  // of this machine, numeric
  std::function<Result<std::string>(const std::string&)> read_file;
  std::vector<std::string> command;        // identifies the job if the launcher gives no id
  std::optional<std::uint32_t> processes;  // -n, for launchers that do not give the size
  std::string master_address;              // --master-addr; empty: not given
  bool needs_master = true;                // false: MPI programs meet through their launcher
};

struct WorldHost {
  std::string name;
  std::uint32_t ranks = 0;
  bool operator==(const WorldHost&) const = default;
};

struct World {
  std::string launcher;  // "mpirun (Open MPI)"
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
  std::uint32_t node = 0;
  std::uint32_t nodes = 1;
  /// Index = node. Empty if the launcher does not name all hosts.
  std::vector<WorldHost> hosts;
  /// Ranks are numbered node by node, as far as this process can see. Together with `hosts` this
  /// determines the node of every rank.
  bool in_order = false;
  std::string master;  // host of rank 0; 127.0.0.1 on one node; empty: unknown or not needed
  std::string master_reason;
  std::string job_id;  // the same for all ranks, different for other jobs
  std::uint32_t restarts = 0;
  std::uint16_t master_port = 0;         // 0: unknown
  std::optional<std::uint32_t> threads;  // cores that the launcher gave to each process
  bool operator==(const World&) const = default;
};

/// The innermost launcher counts: mpirun starts its own daemons by srun, so SLURM_PROCID with
/// OMPI_COMM_WORLD_RANK belongs to the daemon. The order of launchers is jsrun, Open MPI, MVAPICH,
/// Hydra (MPICH, Intel MPI), srun, pbsdsh, a Kubernetes indexed job. A contradiction between two of
/// the first four is an error.
///
/// With several nodes the order of nodes must be known: from the launcher, from its list of
/// nodes, or because all nodes have equally many ranks, numbered node by node; each rank verifies
/// its own position and fails if it does not match. MASTER_ADDR is the first host of the list.
///
/// Errors: exit_code::kPreflight (no launcher, or an inconsistent world: the problem and the
/// remedy), kUsage if an option contradicts the launcher.
[[nodiscard]] Result<World> foreign_world(const WorldInput&);

}  // namespace dlaunch::launchers
