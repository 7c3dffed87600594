// The command line of mpirun (Open MPI) or mpiexec (Hydra: MPICH, Intel MPI) for a job with planned
// nodes and processes. Pure. Options: mpirun(1) of Open MPI 4.1 and 5.0; MPICH wiki, "Using the
// Hydra Process Manager".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/hostfile_text.h"

namespace dlaunch {

enum class MpirunKind { open_mpi_4, open_mpi_5, hydra };

/// Identifies the program by its `--version` output; nullopt: unknown, such as Open MPI 3.
[[nodiscard]] std::optional<MpirunKind> mpirun_kind(std::string_view version_text);

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
  Environment environment;        // where mpirun starts; settings of the user there stay
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

}  // namespace dlaunch
