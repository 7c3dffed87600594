// The command line of mpirun (Open MPI) or mpiexec (Hydra: MPICH, Intel MPI) for a job whose nodes
// and processes are planned. Pure. Options: mpirun(1) of Open MPI 4.1 and 5.0; MPICH wiki, "Using
// the Hydra Process Manager".
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
#include "plan/hostfile.h"

namespace dlaunch {

enum class MpirunKind { open_mpi_4, open_mpi_5, hydra };

/// Which one prints this when asked for its `--version`; nullopt: none of these, such as Open
/// MPI 3.
[[nodiscard]] std::optional<MpirunKind> mpirun_kind(std::string_view version_text);

struct MpirunInput {
  MpirunKind kind = MpirunKind::open_mpi_4;
  std::string program = "mpirun";
  std::string hostfile;          // path of a file in hostfile_dialect(kind)
  std::vector<HostSlots> hosts;  // at least one, each with its processes
  std::string workdir;           // absolute; empty: where mpirun is started
  bool is_root = false;
  Binding::Cpus cpus = Binding::Cpus::automatic;
  std::uint32_t cores = 0;  // physical ones that each node has at least; 0: unknown
  Connect connect;
  std::vector<HostSpec> host_specs;  // as resolved, for users and ports
  std::string address;               // of the first host, for Hydra's proxies; empty: they guess
  std::string network;               // "10.0.0.0/24", in which all nodes meet; empty: not known
  Environment environment;           // that mpirun is started in: what the user has set there stays
  std::string temporary;  // folder for mpirun's own files, there on all hosts; empty: its choice
  std::vector<std::string> pass;     // names of variables for the ranks
  std::vector<std::string> command;  // what each rank executes
};

struct MpirunCommand {
  std::vector<std::string> argv;
  Environment environment;  // what mpirun must be started with, besides what it inherits
  bool operator==(const MpirunCommand&) const = default;
};

[[nodiscard]] HostfileDialect hostfile_dialect(MpirunKind kind);

/// The whole command. Ranks count up node by node, in order of the hosts; variables go by their
/// names (-x NAME), so that no value is on a command line. Ranks are bound to cores of their own
/// where each node has enough for its ranks and all have as many; else not at all. Errors
/// (exit_code::kJobFile): what mpirun has no way for (connect.command, a user or port of one host
/// alone, blanks in ssh's arguments).
[[nodiscard]] Result<MpirunCommand> mpirun_command(const MpirunInput&);

}  // namespace dlaunch
