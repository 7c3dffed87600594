// The place that another launcher (mpirun, srun, pbsdsh, jsrun, Kubernetes) has given to this
// process, read from what it finds: its environment, its machine's names and a file or two. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/result.h"

namespace dlaunch::foreign {

/// What a world is read from. `read_file` gives a whole small file, or an error with its path.
struct WorldInput {
  Environment environment;
  std::string hostname;                // uname(2)
  std::vector<std::string> addresses;  // of this machine, numeric
  std::function<Result<std::string>(const std::string&)> read_file;
  std::vector<std::string> command;        // names the job where the launcher gives it no id
  std::optional<std::uint32_t> processes;  // -n: where the launcher does not tell
  std::string master_address;              // --master-addr; empty: not given
  bool needs_master = true;                // false: MPI programs meet by their launcher
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
  /// Index = node. Empty where the launcher does not name them all.
  std::vector<WorldHost> hosts;
  /// Ranks count up node by node, as far as this process can see: with `hosts` it is known where
  /// every rank is.
  bool in_order = false;
  std::string master;  // host of rank 0; 127.0.0.1 on one node; empty: not known, nor needed
  std::string master_reason;
  std::string job_id;  // the same for all ranks, another one for another job
  std::uint32_t restarts = 0;
  std::uint16_t master_port = 0;         // 0: not told
  std::optional<std::uint32_t> threads;  // cores that the launcher gave to each process
  bool operator==(const World&) const = default;
};

/// The innermost launcher counts: mpirun starts its own daemons by srun, so SLURM_PROCID beside
/// OMPI_COMM_WORLD_RANK is the daemon's. In this order: jsrun, Open MPI, MVAPICH, Hydra (MPICH,
/// Intel MPI), srun, pbsdsh, a Kubernetes indexed job. Two of the first four that disagree are an
/// error.
///
/// Where ranks are on several nodes, which node is which must be known: the launcher says so, or
/// its list of nodes does, or all nodes have as many ranks and these count up node by node; each
/// rank finds itself where it should be, or refuses. MASTER_ADDR is the first host of the list.
///
/// Errors: exit_code::kPreflight (no launcher, or the world does not add up: what is wrong, and
/// what to do), kUsage where an option contradicts the launcher.
[[nodiscard]] Result<World> foreign_world(const WorldInput&);

}  // namespace dlaunch::foreign
