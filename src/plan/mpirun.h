// mpirun (Open MPI) and mpiexec (Hydra: MPICH, Intel MPI): hostfiles, command lines, and plans in
// which they start the ranks (mpi.launcher: mpirun). Pure. Options: mpirun(1) of Open MPI 4.1 and
// 5.0; MPICH wiki, "Using the Hydra Process Manager".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/environment.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// The hostfiles of `launch: once` tell the single process (the DeepSpeed launcher, mpirun,
/// horovodrun, a driver program) its nodes and the number of processes for each.
enum class HostfileDialect {
  /// "name slots=N": DeepSpeed (deepspeed/launcher/runner.py), Open MPI (orte_hosts(7)), Horovod.
  /// No comments, because Horovod does not accept them.
  slots,
  /// "name:N": Hydra, the launcher of MPICH and Intel MPI (mpiexec -f). It rejects "slots=".
  hydra,
};

/// Name of the file in the attempt's folder.
[[nodiscard]] std::string_view hostfile_name(HostfileDialect dialect);

/// One host per line, in order of the nodes, without repetition. Every host has at least one slot.
[[nodiscard]] std::string hostfile_text(HostfileDialect dialect,
                                        const std::vector<HostSlots>& hosts);

enum class MpirunKind { open_mpi_4, open_mpi_5, hydra };

/// Identifies the program by its `--version` output; nullopt: unknown, such as Open MPI 3.
[[nodiscard]] std::optional<MpirunKind> mpirun_kind(std::string_view version_text);

/// "Open MPI 4"
[[nodiscard]] std::string_view name_of(MpirunKind);

struct MpirunInput {
  MpirunKind kind = MpirunKind::open_mpi_4;
  std::string program = "mpirun";
  std::string hostfile;          // path of a file in hostfile_dialect(kind)
  std::vector<HostSlots> hosts;  // at least one, each with its number of processes
  std::string workdir;           // absolute; empty: where mpirun starts
  bool is_root = false;
  Binding::Cpus cpus = Binding::Cpus::automatic;
  std::uint32_t cores = 0;  // minimum physical cores per node; 0: unknown
  Connect connect;
  std::vector<HostSpec> host_specs;  // as resolved, for users and ports
  std::string address;            // of the first host, for Hydra's proxies; empty: they detect it
  std::string network;            // "10.0.0.0/24", in which all nodes meet; empty: not known
  Environment environment;        // that of mpirun; the user's settings in it stay
  std::string temporary;          // folder for mpirun's own files, on all hosts; empty: its default
  std::vector<std::string> pass;  // names of variables to pass to the ranks
  std::vector<std::string> command;  // executed by each rank
};

struct MpirunCommand {
  std::vector<std::string> argv;
  Environment environment;  // to start mpirun with, in addition to the inherited one
  bool operator==(const MpirunCommand&) const = default;
};

[[nodiscard]] HostfileDialect hostfile_dialect(MpirunKind kind);

/// The whole command. Ranks are numbered node by node in order of the hosts; variables are passed
/// by name (-x NAME), so that no value is on a command line. Ranks are bound to separate cores if
/// each node has enough cores for its ranks and all have the same number of ranks; otherwise they
/// are not bound. Errors (exit_code::kJobFile): settings that mpirun does not support
/// (connect.command, a user or port of a single host, blanks in ssh's arguments).
[[nodiscard]] Result<MpirunCommand> mpirun_command(const MpirunInput&);

/// The programs to look up on node 0, in this order; empty: mpirun starts no ranks of this job.
[[nodiscard]] std::vector<std::string> mpirun_programs(const JobSpec&);

/// The subnet of node 0 that contains the master's address ("10.0.0.0/24"); empty: unknown.
[[nodiscard]] std::string network_of(const LaunchPlan&, const Cluster&);

/// The smallest number of physical cores of a node.
[[nodiscard]] std::uint32_t fewest_cores(const Cluster&);

/// Fills LaunchPlan::mpirun, if the job uses it, and adds the hostfile to node 0; the plan is
/// otherwise complete. Errors: exit_code::kNodeLost if node 0 has no mpirun; kJobFile if mpirun is
/// unknown or does not support a setting of the job (mpirun_command()).
[[nodiscard]] Status add_mpirun(const JobSpec&, const Cluster&, const PlanContext&, LaunchPlan&);

}  // namespace dlaunch
