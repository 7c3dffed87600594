// LaunchPlan: the nodes, ranks, commands, cores, GPUs and variables of an attempt. Made by plan/,
// printed by report/, performed by agents. Never contains the value of a secret.
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

/// Where a variable's value comes from, in increasing order of precedence
/// (docs/reference/job-file.md, "Environment").
enum class VariableSource {
  carried,     // the launcher machine's, if its folders exist on the node
  fabric,      // from the detected network; kept if set anywhere
  env_pass,    // from the launcher's environment, by name or pattern
  env_secret,  // the same, but never shown or recorded
  job_env,     // `env` of the job file
  role_env,    // `env` of the role
  rank,        // computed; overrides all others, unless plan/rank_table keeps a value that is set
};

/// One variable of a rank.
struct Variable {
  std::string name;
  std::string value;  // empty for env_secret: the value travels separately (secret_environment())
  VariableSource source = VariableSource::rank;
  std::string reason;       // one short sentence, for `dlaunch plan --env`
  bool is_default = false;  // on other nodes: yields to the value of the login environment there
  bool operator==(const Variable&) const = default;
};

struct RankPlan {
  Rank rank;
  NodeRank node;
  LocalRank local_rank;
  std::string role;                  // "default", or chief | worker | ps | evaluator
  std::uint32_t role_rank = 0;       // index within the role
  std::uint32_t command = 0;         // index into LaunchPlan::commands
  std::vector<int> cpus;             // logical CPUs to run on; empty: not bound
  std::vector<std::string> gpus;     // ids this rank may use, as CUDA_VISIBLE_DEVICES spells them
  std::vector<Variable> variables;   // those that differ between ranks
  std::vector<std::uint16_t> ports;  // listening ports of this rank: released just before its exec
  /// Index into NodePlan::containers; nullopt: not in a container.
  std::optional<std::uint32_t> container{};
  bool operator==(const RankPlan&) const = default;
};

/// A file that the node's agent writes before its first rank starts, readable by this user only.
/// For a launcher that is itself a rank (launch: once).
struct FilePlan {
  std::string path;  // absolute
  std::string text;
  bool operator==(const FilePlan&) const = default;
};

/// The runtime's command line for one kind of container on a node; each rank has its own
/// container. The line runs our own program inside, which gets everything else from the agent
/// (node/containers/container_entry.h): no variable, argument or secret of a rank is on the line.
struct ContainerPlan {
  std::string runtime;  // "podman"
  std::string image;
  std::vector<std::string> argv;  // up to the rank's number, which is appended
  std::uint32_t named = 0;        // index of a word that also ends with the rank's number; 0: none
  Environment environment;        // of the runtime itself, in addition to the agent's
  /// The command that removes leftover containers; their names, each `name` and a rank's number,
  /// are appended. Empty: the runtime leaves none.
  std::vector<std::string> cleanup;
  std::string name;  // "dlaunch-RUN-0-r"
  bool operator==(const ContainerPlan&) const = default;
};

struct NodePlan {
  NodeId id{};
  std::string name;
  std::string address;
  std::string interface;            // leads to the other nodes; empty: only one node, or unknown
  std::vector<Rank> ranks;          // ascending local rank
  std::vector<Variable> variables;  // common to all ranks of this node
  std::string binding_note;         // why ranks are not bound, or how; one short sentence
  std::vector<FilePlan> files;
  bool is_remote = false;     // not the launcher's own machine
  std::string output_folder;  // of the attempt, on this node: output, error files, hostfiles
  std::vector<ContainerPlan> containers{};
  std::string entry_folder{};  // absolute: created by the agent, for entering containers
  /// The Python of the node's ranks, if it was looked up: "/usr/bin/python3 (Python 3.11)".
  std::string python{};
  bool operator==(const NodePlan&) const = default;
};

/// A node for the process of `launch: once`, and the number of processes there.
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

/// A command line. A shell command is `SHELL -c SCRIPT`; see plan/command.h.
struct CommandPlan {
  std::vector<std::string> argv;
  /// The leader begins as a shell: while it is a shell, its direct children are signalled too. It
  /// may become the user's program by exec; then only the leader is signalled.
  bool is_own_shell = false;
  bool operator==(const CommandPlan&) const = default;
};

/// The mpirun that starts the ranks (mpi.launcher: mpirun), executed by the agent of node 0. Each
/// rank is prefixed with `dlaunch exec --join FOLDER`, which makes the agent of its node start it.
struct MpirunPlan {
  std::string name;               // "Open MPI 4"
  std::vector<std::string> argv;  // the whole line
  Environment environment;        // for mpirun itself, in addition to `env` and node 0's
  std::string join_folder;        // absolute, the same on all nodes; created by the agents
  bool operator==(const MpirunPlan&) const = default;
};

/// What `stage` copies to all nodes before the ranks start.
struct PlannedCopy {
  std::string from;  // absolute, or NODE:PATH
  std::string to;    // absolute
  bool unpack = false;
  std::optional<SyncExtent> extent{};  // nullopt: the files are on a node
  bool operator==(const PlannedCopy&) const = default;
};

struct LaunchPlan {
  std::string name;
  std::string run_id;
  Attempt attempt;
  Framework framework = Framework::pytorch;
  Launch launch = Launch::per_process;
  MasterPlan master;
  std::string workdir;               // absolute
  std::optional<SyncExtent> sync{};  // of the workdir that is copied to other nodes, once known
  std::vector<PlannedCopy> staged{};  // only in a preview
  std::vector<CommandPlan> commands;
  std::vector<NodePlan> nodes;         // index = NodeRank; nodes with ranks
  std::vector<std::string> spares{};   // names of the nodes on standby
  std::vector<HostSlots> hosts;        // launch: once: the contents of its hostfiles; else empty
  std::optional<MpirunPlan> mpirun{};  // starts the ranks; nullopt: the agents start them
  std::vector<RankPlan> ranks;         // index = Rank
  std::vector<Variable> variables;     // common to the whole job
  std::vector<std::string>
      scrubbed;  // names (and patterns with '*') removed from the inherited environment
  Environment
      carried;  // variables that remote nodes take if the folders exist (plan/inherited_env.h)
  std::vector<std::string> not_passed;  // env_pass and env_secret names that are not set here
  std::vector<std::string> notes;       // for the user, one sentence each
  bool operator==(const LaunchPlan&) const = default;

  [[nodiscard]] NodeId node_of(Rank rank) const { return nodes[ranks[rank.value].node.value].id; }
  /// Whether the rank exists and runs on `node`. An agent reports only on its own ranks.
  [[nodiscard]] bool runs_on(Rank rank, NodeId node) const {
    return rank.value < ranks.size() && node_of(rank) == node;
  }
  /// The position of a node; nullopt: the attempt does not use it.
  [[nodiscard]] std::optional<NodeRank> find(NodeId id) const {
    // Until nodes leave, each is where its number says.
    if (id.value < nodes.size() && nodes[id.value].id == id) return NodeRank(id.value);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].id == id) return NodeRank(i);
    }
    return std::nullopt;
  }
};

}  // namespace dlaunch
