// LaunchPlan: who runs where, with which command, cores, GPUs and variables. Made by plan/, printed
// by report/, performed by agents. It never holds the value of a secret.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/sync.h"

namespace dlaunch {

/// Where a variable's value comes from, in the order in which later ones win (docs/job-file.md,
/// "Environment").
enum class VariableSource {
  carried,     // of the launcher's machine, as far as its folders exist on the node
  fabric,      // from the network that was found; kept if set anywhere
  env_pass,    // from the launcher's environment, by name or pattern
  env_secret,  // likewise, but never shown or recorded
  job_env,     // `env` of the job file
  role_env,    // `env` of the role
  rank,        // computed; nothing overrides it, unless the row is marked as kept if set
};

/// One variable as a rank will find it.
struct Variable {
  std::string name;
  std::string value;  // empty for env_secret: the value travels apart (see Secrets in plan/)
  VariableSource source = VariableSource::rank;
  std::string reason;       // one short sentence, for `dlaunch plan --env`
  bool is_default = false;  // on other nodes: gives way to what the login environment there sets
  bool operator==(const Variable&) const = default;
};

struct RankPlan {
  Rank rank;
  NodeIndex node;
  LocalRank local_rank;
  std::string role;                 // "default", or chief | worker | ps | evaluator
  std::uint32_t role_rank = 0;      // index within the role
  std::uint32_t command = 0;        // index into LaunchPlan::commands
  std::vector<int> cpus;            // logical CPUs to run on; empty: not bound
  std::vector<std::string> gpus;    // ids this rank may use, as CUDA_VISIBLE_DEVICES spells them
  std::vector<Variable> variables;  // those that differ from rank to rank
  std::vector<std::uint16_t>
      ports;  // listening ports that are this rank's: released just before its exec
  /// Index into NodePlan::containers; nullopt: it runs in none.
  std::optional<std::uint32_t> container{};
  bool operator==(const RankPlan&) const = default;
};

/// A file that the node's agent writes before the first of its ranks starts, for nobody else to
/// read. Made for a launcher that is itself a rank (launch: once).
struct FilePlan {
  std::string path;  // absolute
  std::string text;
  bool operator==(const FilePlan&) const = default;
};

/// A container that ranks of a node run in, each in one of its own: how its runtime is called. What
/// it executes in there is our own program, which gets everything else from the agent
/// (agent/containers/container_entry.h): no variable, argument or secret of a rank is on this line.
struct ContainerPlan {
  std::string runtime;  // "podman"
  std::string image;
  std::vector<std::string> argv;  // up to the rank's number, which follows
  std::uint32_t named = 0;        // this word ends with the rank's number, too; 0: none does
  Environment environment;        // of the runtime itself, besides what the agent has
  /// Removes containers that are left, whose names follow, each kName and a rank's number; empty:
  /// the runtime leaves none.
  std::vector<std::string> cleanup;
  std::string name;  // "dlaunch-RUN-0-r"
  bool operator==(const ContainerPlan&) const = default;
};

struct NodePlan {
  std::string name;
  std::string address;
  std::string interface;            // through which it reaches the others; empty: one node, unknown
  std::vector<Rank> ranks;          // ascending local rank
  std::vector<Variable> variables;  // the same for all ranks of this node
  std::string binding_note;         // why ranks are not bound, or how; one short sentence
  std::vector<FilePlan> files;
  bool is_remote = false;     // not the launcher's own machine
  std::string output_folder;  // of the attempt, on this node: output, error files, hostfiles
  std::vector<ContainerPlan> containers{};
  std::string entry_folder{};  // absolute: made by the agent, for those who enter a container
  /// What its ranks call Python, where that was looked for: "/usr/bin/python3 (Python 3.11)".
  std::string python{};
  bool operator==(const NodePlan&) const = default;
};

/// A node that the one process of `launch: once` may use, and how many processes there.
struct HostSlots {
  std::string name;
  std::uint32_t slots = 0;
  bool operator==(const HostSlots&) const = default;
};

struct MasterPlan {
  std::string address;
  std::uint16_t port = 0;
  std::string reason;  // "the only node", "eth0, the fastest subnet that both nodes share"
  bool operator==(const MasterPlan&) const = default;
};

/// What is executed. A shell command is `SHELL -c SCRIPT`; see plan/command.h.
struct CommandPlan {
  std::vector<std::string> argv;
  /// The leader begins as a shell of ours: while it is one, its direct children are signalled too.
  /// It may become the user's program by exec; then it is signalled alone.
  bool is_own_shell = false;
  bool operator==(const CommandPlan&) const = default;
};

/// Another launcher, mpirun, that starts the ranks (mpi.launcher: mpirun): what the agent of node 0
/// executes. In front of each rank stands `dlaunch exec --join FOLDER`, at whose word the agent of
/// its node starts the rank.
struct MpirunPlan {
  std::string name;               // "Open MPI 4"
  std::vector<std::string> argv;  // the whole line
  Environment environment;        // for mpirun itself, besides `env` and what node 0 has anyway
  std::string join_folder;        // absolute, the same on all nodes; made by the agents
  bool operator==(const MpirunPlan&) const = default;
};

struct LaunchPlan {
  std::string name;
  std::string run_id;
  Attempt attempt;
  Framework framework = Framework::pytorch;
  Launch launch = Launch::per_process;
  MasterPlan master;
  std::string workdir;  // absolute
  std::optional<SyncExtent>
      sync{};  // of the workdir that is copied to other nodes, once it is known
  std::vector<CommandPlan> commands;
  std::vector<NodePlan> nodes;         // index = NodeIndex; those that have ranks
  std::vector<HostSlots> hosts;        // launch: once: what its hostfiles say; else empty
  std::optional<MpirunPlan> mpirun{};  // it starts the ranks; nullopt: the agents do
  std::vector<RankPlan> ranks;         // index = Rank
  std::vector<Variable> variables;     // the same for the whole job
  std::vector<std::string>
      scrubbed;         // names (and patterns with '*') removed from the inherited environment
  Environment carried;  // what remote nodes take from here where the folders exist (plan/carried.h)
  std::vector<std::string> not_passed;  // env_pass and env_secret names that are not set here
  std::vector<std::string> notes;       // for the user, one sentence each
  bool operator==(const LaunchPlan&) const = default;
};

}  // namespace dlaunch
