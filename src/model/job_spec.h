// JobSpec: the complete request of a job (docs/reference/job-file.md). A plain value; only jobfile/
// makes one from text, and dialects are translated into it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/environment.h"

namespace dlaunch {

using Duration = std::chrono::milliseconds;

/// A command as written: a string runs in the shell once per rank, a list is executed directly.
struct Command {
  bool is_shell = false;
  std::string line;               // when is_shell
  std::vector<std::string> argv;  // if a list; at least one element

  bool operator==(const Command&) const = default;
};

enum class Shell { sh, bash };
enum class Framework { pytorch, tensorflow, mpi, horovod, deepspeed, jax, gcp, none };
enum class Launch { per_process, per_node, once };
/// fill: one node after the other; spread: no node gets a second rank while another has none.
enum class PlacementPolicy { fill, spread };
/// `automatic`: workers if there are parameter servers, which never end by themselves, else all.
enum class Success { automatic, all, chief, workers };
enum class StdinFor {
  none,
  rank0,
  automatic,  // rank0 in a terminal with a single rank
  rank,       // JobSpec::stdin_rank
};
/// Whether an active virtual or conda environment must exist on every node whose ranks use it.
enum class ActiveEnv { required, optional };
enum class Isolation { standard, pid_namespace };

/// nodes: n is {n, n}; {min: a, max: b} requests an elastic job.
struct NodeRange {
  int min = 1;
  int max = 1;
  bool operator==(const NodeRange&) const = default;
};

/// `automatic`: one per GPU, or 1 without GPUs. `gpu`: one per GPU, for `count` GPUs (0: all);
/// fewer GPUs are an error. `count`: `count` processes.
struct ProcessesPerNode {
  enum class Kind { automatic, gpu, count };
  Kind kind = Kind::automatic;
  int count = 0;
  bool operator==(const ProcessesPerNode&) const = default;
};

struct HostSpec {
  std::string name;     // as given; a range ("gpu[02-04]") is expanded by the resolver
  int slots = 0;        // 0: not given
  std::string address;  // empty: the name
  std::string user;
  std::uint16_t port = 0;  // 0: the connector's default
  bool operator==(const HostSpec&) const = default;
};

struct HostList {
  bool from_scheduler = false;  // hosts: auto
  std::vector<HostSpec> hosts;
  std::string hostfile;
  /// For a resolved list: whether it is the Slurm allocation that dlaunch runs in. If so, srun
  /// reaches the nodes unless the job selects another connector.
  bool in_slurm = false;
  bool operator==(const HostList&) const = default;
};

struct Connect {
  /// Names of connectors (the table in launch/connect/connectors.cc) that other parts of the code
  /// use.
  struct Via {
    static constexpr std::string_view automatic = "auto";  // fork for this machine, ssh for others
    static constexpr std::string_view local = "local";
    static constexpr std::string_view ssh = "ssh";
    static constexpr std::string_view slurm = "slurm";
    static constexpr std::string_view command = "command";
  };
  std::string via{Via::automatic};
  std::string ssh = "ssh";
  std::string user;
  std::uint16_t port = 0;
  std::string identity_file;
  int parallel = 64;
  std::optional<Duration> persist;  // how long ssh keeps a login for further runs
  std::vector<std::string> command;
  std::map<std::string, std::string> settings;  // keys of `connect` that only one connector reads
  bool operator==(const Connect&) const = default;
};

struct RendezvousSpec {
  std::string interface = "auto";
  std::string address = "auto";
  std::uint16_t port = 0;  // 0: auto
  bool operator==(const RendezvousSpec&) const = default;
};

/// The container of a rank's command (docs/how-to/use-containers.md).
struct Container {
  enum class Runtime { automatic, podman, docker, apptainer, charliecloud, enroot };
  std::string image;
  Runtime runtime = Runtime::automatic;
  std::vector<std::string> mounts;   // HOST[:CONTAINER][:ro|rw]
  std::uint64_t shm_bytes = 0;       // minimum size of /dev/shm; 0: unchanged
  std::vector<std::string> options;  // passed to the runtime unchanged
  std::string workdir = {};  // in the image, absolute; "image": the image's own; empty: the job's
  bool operator==(const Container&) const = default;
};

/// One role of a tensorflow job. Order of ranks: chief, worker, ps, evaluator.
struct RoleSpec {
  std::string name;
  int count = 0;
  std::optional<Command> command;  // default: the job's
  std::optional<Container> container;
  std::optional<int> nodes;
  Environment env;
  bool operator==(const RoleSpec&) const = default;
};

struct Binding {
  enum class Cpus { automatic, none };
  enum class Gpus { all, one_per_process, none };
  Cpus cpus = Cpus::automatic;
  Gpus gpus = Gpus::all;
  int threads = 0;  // OMP_NUM_THREADS; 0: auto
  bool operator==(const Binding&) const = default;
};

struct Mpi {
  enum class Launcher { dlaunch, mpirun };
  /// The protocols that ranks may use. `automatic`: either, as their MPI library needs.
  enum class Pmi { automatic, pmix, pmi1 };
  /// Whether a successful rank must have called MPI_Init: a rank that did not may be in a world of
  /// its own.
  enum class Init { required, optional };
  Launcher launcher = Launcher::dlaunch;
  Pmi pmi = Pmi::automatic;
  Init init = Init::required;
  std::string program;  // the mpirun to use; empty: the first of mpirun_programs() in PATH
  bool torch_variables = false;
  bool oversubscribe = false;
  bool operator==(const Mpi&) const = default;
};

/// With framework: gcp: the names in TF_CONFIG and CLUSTER_SPEC, which differ between Google's
/// services.
struct GcpNames {
  /// The name of the chief in TF_CONFIG: TensorFlow 2 does not know master.
  enum class Chief { chief, master };
  /// The names of the groups in CLUSTER_SPEC: master, worker, ps, evaluator (AI Platform Training),
  /// or workerpool0 to workerpool3 (Vertex AI).
  enum class Groups { roles, pools };
  Chief tf_config = Chief::chief;
  Groups cluster_spec = Groups::roles;
  bool operator==(const GcpNames&) const = default;
};

/// With framework: tensorflow: names and members of TF_CONFIG's cluster.
struct TfCluster {
  /// TensorFlow 2 does not know master.
  enum class Chief { chief, master };
  /// apart: TensorFlow's form, in which the evaluator is not part of the training cluster.
  enum class Evaluator { apart, listed };
  Chief chief = Chief::chief;
  Evaluator evaluator = Evaluator::apart;
  bool operator==(const TfCluster&) const = default;
};

enum class RestartCause { failure, node_loss, hang, preemption };

struct RestartPolicy {
  int max = 0;
  std::vector<RestartCause> on = {RestartCause::failure, RestartCause::node_loss,
                                  RestartCause::hang, RestartCause::preemption};
  std::vector<int> not_on_exit;
  Duration backoff_min{0};
  Duration backoff_max = std::chrono::minutes(5);
  Duration reset_after = std::chrono::minutes(10);
  bool exclude_bad_nodes = false;
  bool operator==(const RestartPolicy&) const = default;
};

/// nullopt: no limit.
struct Timeouts {
  Duration connect = std::chrono::seconds(30);
  std::optional<Duration> run;
  std::optional<Duration> hang;
  Duration stop = std::chrono::seconds(30);
  std::optional<Duration> stragglers_after_success;
  Duration fence_after = std::chrono::seconds(10);
  Duration lost_after = std::chrono::seconds(15);
  Duration node_return = std::chrono::minutes(5);
  Duration collect = std::chrono::minutes(30);
  bool operator==(const Timeouts&) const = default;
};

/// The interval between heartbeats in each direction of a channel.
inline constexpr Duration kHeartbeat = std::chrono::seconds(1);

struct Preflight {
  enum class Check { node, reach, fabric };
  std::vector<Check> checks;
  std::optional<double> min_busbw_gbs;  // nullopt: auto
  bool operator==(const Preflight&) const = default;
};

/// How staged files get to the nodes: from node to node, or each from the launcher.
enum class StageVia : std::uint8_t { nodes, launcher };
struct Transfer {
  std::string from;
  std::string to;
  bool unpack = false;
  std::vector<std::string> exclude{};  // patterns of gitignore(5), relative to a folder in `from`
  bool operator==(const Transfer&) const = default;
};

/// `sync`: true, or a mapping.
struct SyncSpec {
  bool is_on = false;
  std::vector<Transfer> paths;       // `from: .` is the workdir; empty: only the workdir
  std::vector<std::string> exclude;  // as in Transfer, for the workdir and all paths
  enum class Delete : std::uint8_t { owned, never } remove = Delete::owned;
  bool operator==(const SyncSpec&) const = default;
};

struct Logs {
  /// automatic: merged for 9 or more ranks on a terminal, else all.
  enum class Console { automatic, all, merged, rank0, none, ranks };
  enum class Prefix { automatic, always, never };
  std::string dir = "runs";
  Console console = Console::automatic;
  std::vector<std::uint32_t> console_ranks;  // when Console::ranks
  Prefix prefix = Prefix::automatic;         // automatic: none for a single rank
  bool fold_numbers = false;                 // merged: lines that differ in one number are equal
  bool operator==(const Logs&) const = default;
};

/// How a running job is watched. Watching only reports; Timeouts::hang ends the job.
struct Watch {
  /// How long all ranks must be silent before dlaunch looks at them; nullopt: no watching.
  std::optional<Duration> after = std::chrono::seconds(60);
  Duration interval = std::chrono::seconds(1);  // between two looks at the ranks of a node
  bool operator==(const Watch&) const = default;
};

/// How a node learns that it is about to be taken away.
struct Preemption {
  std::optional<Command> command;  // runs on every node of an attempt; exit code 0: a notice
  Duration interval = std::chrono::seconds(5);
  std::string file;  // its existence on a node is a notice, too; empty: none
  [[nodiscard]] bool is_watched() const { return command || !file.empty(); }
  bool operator==(const Preemption&) const = default;
};

/// Where the job writes checkpoints.
struct Checkpoint {
  std::vector<std::string> path;  // patterns with *, ? and [...]; relative to the workdir
  std::string signal;  // asks ranks to write one and continue; named like stop_signal; empty: none
  bool operator==(const Checkpoint&) const = default;
};

struct JobSpec {
  std::string name;  // default: the folder's or the program's name
  Command command;
  Shell shell = Shell::sh;
  std::string setup;
  Framework framework = Framework::pytorch;
  Launch launch = Launch::per_process;
  std::string workdir;  // empty: where dlaunch was started; relative: to that folder
  SyncSpec sync;
  std::optional<NodeRange> nodes;
  int spares = 0;
  ProcessesPerNode processes_per_node;
  std::optional<int> processes;
  PlacementPolicy placement = PlacementPolicy::fill;
  HostList hosts;
  Connect connect;
  RendezvousSpec rendezvous;
  std::vector<RoleSpec> roles;
  Success success = Success::automatic;
  Environment env;
  std::vector<std::string> env_pass;
  std::vector<std::string> env_secret;
  ActiveEnv active_env = ActiveEnv::required;
  std::vector<std::string> preload;  // names of Python modules
  Binding binding;
  std::optional<Container> container;
  Mpi mpi;
  GcpNames gcp;
  TfCluster tensorflow;
  RestartPolicy restart;
  Timeouts timeouts;
  std::string stop_signal = "TERM";  // a name of signal(7) without SIG; the reader validates it
  StdinFor stdin_for = StdinFor::automatic;
  std::uint32_t stdin_rank = 0;      // when StdinFor::rank
  std::optional<std::uint32_t> pty;  // the rank that gets a terminal of its own
  Isolation isolation = Isolation::standard;
  Preflight preflight;
  std::vector<Transfer> stage;
  StageVia stage_via = StageVia::nodes;
  std::vector<Transfer> collect;
  std::uint64_t collect_limit = 0;  // bytes per node; 0: no limit
  Preemption preemption;
  Checkpoint checkpoint;
  Logs logs;
  Watch watch;
  std::map<std::string, std::string> metrics;  // name -> RE2 pattern
  /// metrics.prometheus: relative to the folder where dlaunch was started; empty: none.
  std::string prometheus;

  /// For errors: how the user gave a key. Options are as typed ("-n 5" for processes, "--set
  /// nodes=2"). From the job file: hostfile, as its position ("job.yaml:3:11"), and spares and the
  /// keys of a dialect, as value and position.
  std::map<std::string, std::string> typed;

  bool operator==(const JobSpec&) const = default;
};

/// Whether dlaunch watches the job's ranks while they run, to report a hang or to end a hung job.
[[nodiscard]] bool is_watched(const JobSpec&);

/// Whether `sync` copies the job's workdir to the other nodes.
[[nodiscard]] bool syncs_workdir(const JobSpec&);

/// Whether an item of sync.paths is the workdir itself.
[[nodiscard]] bool is_workdir(const Transfer&);

/// What is staged: the items of sync.paths, without the workdir, and then those of `stage`.
[[nodiscard]] std::vector<Transfer> staged_items(const JobSpec&);

/// The value of a key in an error: as the user typed it, else "processes: 5" in quotes.
[[nodiscard]] std::string as_typed(const JobSpec&, const std::string& key,
                                   const std::string& value);

/// Whether the job's nodes may change between attempts: it has spares, or a range of nodes.
[[nodiscard]] bool has_membership(const JobSpec&);

/// The number of hosts needed for `nodes.min` and the spares.
[[nodiscard]] std::size_t hosts_needed(const JobSpec&);

/// The error for a job that needs more than `given` hosts, with advice on what to type.
/// `origin`: the source of the hosts, such as "hostfile hosts.txt"; may be empty.
[[nodiscard]] std::string too_few_hosts(const JobSpec&, std::size_t given,
                                        const std::string& origin);

/// The error for more ranks than slots. `asked`: "-n 5", "5 processes,"; `origin` as above.
[[nodiscard]] std::string too_few_slots(const std::string& asked, std::size_t hosts,
                                        std::size_t slots, const std::string& origin = "");

/// Two keys that contradict each other, and why.
struct KeyConflict {
  std::string first;
  std::string second;
  std::string why;
};

/// The keys that the job's `launch` contradicts: `framework`, `binding.gpus`, roles.
[[nodiscard]] std::vector<KeyConflict> launch_conflicts(const JobSpec&);

[[nodiscard]] std::string_view name_of(Framework);
/// Whether the ranks are MPI programs, which dlaunch serves with PMIx and PMI-1: mpi and horovod.
[[nodiscard]] bool uses_mpi(Framework);
/// pytorch, and deepspeed, whose init_distributed() reads the same variables.
[[nodiscard]] bool is_torch(Framework);
/// Whether each rank gets the others' addresses, as tasks of a cluster: tensorflow and gcp.
[[nodiscard]] bool has_tasks(Framework);
[[nodiscard]] std::string_view name_of(Launch);

}  // namespace dlaunch
