// The messages between launcher and agent, as values. docs/internals/wire-protocol.md describes
// them for readers; codec.h turns them into frames and back. Thread-safety: plain values.
//
// Order of a session: Hello both ways (first on the channel), FactsRequest -> Facts, StartRanks ->
// RanksStarted / RankNotStarted, output and RankExited, AttemptEnded, then Bye both ways. A channel
// that ends without Bye is broken: docs/internals/architecture.md ("Broken connections") says what
// the agent then does. A session that continues over a new connection begins with Resume both ways.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/check_report.h"
#include "model/checkpoint.h"
#include "model/cluster.h"
#include "model/environment.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/pulse.h"
#include "model/python.h"
#include "model/rank_span.h"
#include "model/stacks.h"
#include "model/stage.h"
#include "model/sync.h"
#include "model/time.h"

namespace dlaunch::wire {

/// Changes whenever the meaning of a message or of the frame changes. Both ends must have the same
/// version.
inline constexpr std::uint32_t kProtocolVersion = 13;

/// What a rank leaves on its node: both streams, and the file that its framework may write
/// about an exception (rank-<n>.error.json).
enum class OutputPart : std::uint8_t { out = 1, err = 2, error_file = 3 };

/// Maximum bytes that one FetchOutput may ask for. It is limited because the agent keeps each
/// answer until the launcher has acknowledged it.
inline constexpr std::uint32_t kMostFetched = 131072;

// ---- both ways

struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string build_id;
  // launcher -> agent only:
  std::string node_name;                 // the user's name for the node
  std::uint32_t heartbeat_ms = 1000;     // interval between Heartbeats of each end
  std::uint32_t fence_after_ms = 10000;  // silence after which the agent kills its ranks
  bool keep_on_channel_loss =
      false;  // wait fence_after_ms for a reconnect; only with network connectors
  bool operator==(const Hello&) const = default;
};
/// Sent every `heartbeat_ms`. The launcher also answers each Heartbeat of the agent at once,
/// because the agent lets its ranks run only while it knows that the launcher hears it
/// (node/session/lease.h). The echo also yields the round trip and thus the difference of the two
/// clocks (launch/session/node_clock.h).
struct Heartbeat {
  WallTime at;             // sender's clock
  std::uint64_t sent = 0;  // nanoseconds on the sender's monotonic clock; meaningless elsewhere
  std::uint64_t echo = 0;  // `sent` of the latest Heartbeat from the other end; 0: none so far
  std::uint64_t held = 0;  // nanoseconds from receiving that Heartbeat to sending this one
  bool operator==(const Heartbeat&) const = default;
};
/// Every control frame up to and including `sequence` has arrived.
struct Ack {
  std::uint64_t sequence = 0;
  bool operator==(const Ack&) const = default;
};
/// The orderly end. The agent answers it with its own Bye and exits, or stays for another session.
struct Bye {
  /// Launcher -> agent: serve the next Hello on this connection, even if it begins another session.
  /// Agent -> launcher: the agent will do so.
  bool stays = false;
  bool operator==(const Bye&) const = default;
};

// ---- launcher -> agent

/// Asks for NodeFacts; sent once per attempt, because each attempt needs new ports.
struct FactsRequest {
  std::uint32_t ports = 0;  // how many free ports to find and hold
  std::vector<std::uint16_t>
      fixed_ports;    // ports chosen by the user: hold them, or report who holds them
  Attempt attempt{};  // the attempt that needs the ports
  /// Name, without '/', of the folder that the agent makes on the node for the output of this run's
  /// ranks (NodeFacts::output_folder). Empty: no folder is needed, because StartRanks::log_folder
  /// names one.
  std::string output_name{};
  std::vector<std::string> variables{};  // report the values of these variables on the node
  /// Names of mpirun to look for; the agent asks the first one found for its version. Empty: do not
  /// look.
  std::vector<std::string> mpirun{};
  std::optional<std::string> search_path{};  // PATH for finding them, if the job sets it
  Environment carried{};  // as in StartRanks, when mpirun or settings of Open MPI are requested
  /// Container runtimes to look for. The answer also has the other facts about the node that
  /// running a container requires. Empty: neither is requested.
  std::vector<std::string> containers{};
  bool pmix = false;  // whether the node can serve PMIx
  /// Whether the plan needs to know how nodes reach each other: interfaces, network hardware, the
  /// machine's identity.
  bool network = true;
  bool operator==(const FactsRequest&) const = default;
};
struct StartCommand {
  std::vector<std::string> argv;
  bool is_own_shell = false;
  bool operator==(const StartCommand&) const = default;
};
struct StartRank {
  Rank rank;
  LocalRank local_rank;
  std::uint32_t command = 0;  // index into StartRanks::commands
  Environment env;            // on top of StartRanks::env
  std::vector<int> cpus;      // empty: not bound
  std::vector<std::uint16_t> release_ports;
  bool wants_stdin = false;     // gets StdinData; else /dev/null
  bool is_shown = true;         // false: its output goes to its files only
  std::uint32_t container = 0;  // index into StartRanks::containers, from 1; 0: none
  bool terminal = false;        // gets a terminal of its own as stdin, stdout and stderr
  bool operator==(const StartRank&) const = default;
};
/// How ranks are started in a container; see ContainerPlan. Such a rank has the container's
/// environment plus what is set here, and no variables of the agent.
struct StartContainer {
  std::vector<std::string> argv;  // at least one element
  std::uint32_t named = 0;
  Environment env;
  std::vector<std::string> cleanup;
  std::string name;
  bool operator==(const StartContainer&) const = default;
};
/// A file that is written before the first rank of the message starts: mode 0600, missing folders
/// 0700.
struct StartFile {
  std::string path;  // absolute
  std::string bytes;
  bool operator==(const StartFile&) const = default;
};
/// A rank's environment: the agent's own plus the variables of `carried` whose folders exist here,
/// less `scrub`, then those of `defaults` that it lacks, then `env`, then StartRank::env; later
/// entries win. Large jobs need several of these messages; `last` marks the final one of the
/// attempt on this node.
struct StartRanks {
  Attempt attempt;
  std::string log_folder;  // absolute, existing folder for rank-<n>.out and .err; empty: the
                           // agent's own session folder
  std::string workdir;     // absolute
  std::vector<std::string> scrub;  // names and patterns with '*'
  Environment env;
  std::vector<StartCommand> commands;
  std::vector<StartRank> ranks;
  std::uint32_t output_credit = 0;  // bytes of each stream that may be sent before an OutputCredit
  bool last = true;
  std::vector<StartFile> files;
  Environment carried;   // of the launcher's machine; see node/ranks/carried_environment.h
  Environment defaults;  // set only if neither the environment so far nor a later entry sets them
  /// Not empty: another launcher starts the ranks. The agent makes this folder, with a link to
  /// dlaunch in it, and starts each rank when its `dlaunch exec --join` connects there
  /// (node/mpi/join_listener.h).
  /// -> RanksAwaited
  std::string join_folder{};
  bool are_mpi = false;     // with join_folder: a rank fails if it never connects to mpirun
  std::uint32_t world = 0;  // ranks of the job, on all nodes
  std::uint32_t on_node = 0;  // ranks of the job on this node; 0: those of this message
  std::vector<StartContainer> containers{};
  std::string entry_folder{};  // for the containers' first processes
                               // (node/containers/container_folder.h); empty: no containers
  std::uint32_t pulse_ms = 0;  // interval at which to look at the ranks for a Pulse; 0: never
  std::vector<std::string> metrics{};  // patterns (text/metric_pattern.h) for RankPulse::metrics
  /// Run every `preemption_ms` while the attempt runs, in the environment that all ranks share; see
  /// PreemptionNotice. Empty: none.
  std::vector<std::string> preemption_command{};
  std::uint32_t preemption_ms = 0;  // 0: no notice is expected
  std::string preemption_file{};    // its existence is a notice; relative to the workdir
  /// Python modules that a template process imports once for all ranks of the node
  /// (node/preload/preload_service.h).
  std::vector<std::string> preload{};
  std::vector<std::string> checkpoints{};  // patterns for CheckpointsSeen; empty: none is sent
  bool operator==(const StartRanks&) const = default;
};
/// Sends the signal to the process group leaders of these ranks of the attempt (or to the direct
/// children of shells that we added). Empty list: sends it to all ranks, and starts no more.
struct StopRanks {
  Attempt attempt;
  std::int32_t signal = 0;
  std::vector<Rank> ranks{};
  bool operator==(const StopRanks&) const = default;
};
/// SIGKILL to these ranks and all their descendants. Empty list: to all processes of the attempt.
struct KillRanks {
  Attempt attempt;
  std::vector<Rank> ranks{};
  bool operator==(const KillRanks&) const = default;
};
/// The stream may be sent up to this offset (bytes since its start), which never decreases. When
/// more than `keep_last` bytes wait to be sent, only the last of them are sent, from the start of a
/// line and regardless of `up_to`; `keep_last` of 0: the agent sends no more of the stream, ever.
struct OutputCredit {
  Attempt attempt;
  Rank rank;
  Stream stream = Stream::out;
  std::uint64_t up_to = 0;
  std::uint64_t keep_last = ~std::uint64_t{0};
  bool operator==(const OutputCredit&) const = default;
};
/// To node 0: listen on the port, which it must already hold, at these addresses, so that the other
/// nodes can find out which addresses they reach. A connection that does not begin with `nonce`
/// gets no answer. -> DoorOpen
struct OpenDoor {
  std::uint32_t id = 0;  // identifies this check
  std::vector<std::string> addresses;
  bool any_address = false;  // one of them is not an address of the node: listen on all
  std::uint16_t port = 0;
  std::string nonce;
  std::string answer;
  std::uint32_t limit_ms = 10000;  // after this time the door closes in any case
  bool operator==(const OpenDoor&) const = default;
};
/// To the other nodes: connect to all of these at once. -> Knocked, as results arrive
struct Knock {
  std::uint32_t id = 0;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string nonce;   // to be sent
  std::string answer;  // expected back
  std::uint32_t limit_ms = 10000;
  bool operator==(const Knock&) const = default;
};
/// The check is over: close the door and abandon the connections that are still being tried.
struct CloseDoor {
  std::uint32_t id = 0;
  bool operator==(const CloseDoor&) const = default;
};

/// Bytes for the rank that reads stdin; no bytes: close its stdin.
struct StdinData {
  Attempt attempt;
  std::string bytes;
  bool operator==(const StdinData&) const = default;
};

// ---- agent -> launcher

struct Facts {
  NodeFacts facts;
  Attempt attempt{};  // of the request
  bool operator==(const Facts&) const = default;
};
struct RanksStarted {
  struct One {
    Rank rank;
    std::int32_t pid = 0;
    WallTime at;
    bool operator==(const One&) const = default;
  };
  Attempt attempt;
  std::vector<One> ranks;
  bool operator==(const RanksStarted&) const = default;
};
/// The agent starts no further ranks of the attempt.
struct RankNotStarted {
  Attempt attempt;
  Rank rank;
  StartFailure failure;
  WallTime at;
  bool operator==(const RankNotStarted&) const = default;
};
struct RankExited {
  Attempt attempt;
  Rank rank;
  ExitStatus status;
  WallTime at;
  bool after_signal = false;  // the agent had sent the rank our stop or kill signal before it ended
  bool operator==(const RankExited&) const = default;
};
/// Bytes of a rank's stream. Travels raw, outside the control sequence: `offset` says where they
/// belong. To avoid copies, the bytes stay where they were received or are sent from.
struct OutputData {
  Attempt attempt;
  Rank rank;
  Stream stream = Stream::out;
  std::uint64_t offset = 0;
  std::string_view bytes;
  bool operator==(const OutputData&) const = default;
};
/// The stream is complete: `size` bytes in all, `lost` of them not in the rank's file (disk full).
struct OutputEnd {
  Attempt attempt;
  Rank rank;
  Stream stream = Stream::out;
  std::uint64_t size = 0;
  std::uint64_t lost = 0;
  bool operator==(const OutputEnd&) const = default;
};
/// How many bytes of the job's stdin the rank has taken so far.
struct StdinTaken {
  Attempt attempt;
  std::uint64_t up_to = 0;
  bool closed = false;  // the rank no longer reads
  bool operator==(const StdinTaken&) const = default;
};
/// Every rank of the attempt on this node has ended, its output is complete, and nothing it started
/// is left.
struct AttemptEnded {
  Attempt attempt;
  std::uint32_t leftovers = 0;
  bool operator==(const AttemptEnded&) const = default;
};
/// Something that the user should know ("the log disk is full"); one sentence.
struct Notice {
  std::string text;
  bool operator==(const Notice&) const = default;
};

/// A rank has failed, and a process outside the job listens on a port that the agent had released
/// for one of the attempt's ranks. Sent before the RankExited.
struct PortTaken {
  Attempt attempt;
  Rank rank;  // the rank that should have listened there
  TakenPort taken;
  bool operator==(const PortTaken&) const = default;
};

// ---- launcher -> agent

/// Asks, before any rank starts, whether this node has everything that its ranks need. ->
/// PrerequisitesMissing
struct CheckPrerequisites {
  struct Program {
    std::string name;  // found as execvp(3) does
    std::optional<std::string>
        search_path;  // PATH, if the job sets it; else the PATH of the ranks is used
    bool operator==(const Program&) const = default;
  };
  /// A program to look up; the answer says where it is. If the program is a Python that runs a
  /// script or module, the agent also looks for that script or module.
  struct Lookup {
    std::string name;
    std::optional<std::string> search_path;  // as in Program
    std::string expected;  // its path on the launcher's machine; empty: not known
    PythonCommand python;  // empty: look up only the path
    Environment env;       // what the job sets, without secrets
    bool imports = false;  // report what the script imports, too
    bool operator==(const Lookup&) const = default;
  };
  Attempt attempt;
  std::string workdir;  // absolute
  Environment carried;  // as in StartRanks
  std::vector<Program> programs;
  std::vector<std::string> files;  // must be readable; relative to the workdir
  std::vector<Lookup> lookups{};
  std::vector<std::string> folders{};  // absolute; the answer names missing ones
  bool operator==(const CheckPrerequisites&) const = default;
};
/// Asks for a part of a rank's output that is still on its node. The agent answers each request
/// with one FetchedOutput, in order.
struct FetchOutput {
  Attempt attempt;
  Rank rank;
  OutputPart part = OutputPart::out;
  std::uint64_t offset = 0;  // in the stream or file
  std::uint32_t size = 0;    // at most; 1 to kMostFetched
  bool operator==(const FetchOutput&) const = default;
};
/// Everything of the attempt has been fetched: the agent may remove its files.
struct ForgetOutput {
  Attempt attempt;
  bool operator==(const ForgetOutput&) const = default;
};

// ---- agent -> launcher

/// Everything that the node lacks, each as the reason why a rank could not start; empty: it lacks
/// nothing. Also the answers to lookups.
struct PrerequisitesMissing {
  Attempt attempt;
  std::vector<StartFailure> missing;
  std::vector<FoundProgram> found{};  // one for each of CheckPrerequisites::lookups, in their order
  std::vector<std::string> folders{};  // the missing ones of CheckPrerequisites::folders
  bool operator==(const PrerequisitesMissing&) const = default;
};
/// Those of the requested bytes that exist. They begin at `offset`, which is greater than the
/// requested offset if bytes between the two were lost. No bytes: the stream ends at `offset`.
/// Travels raw like OutputData, but in sequence.
struct FetchedOutput {
  Attempt attempt;
  Rank rank;
  OutputPart part = OutputPart::out;
  std::uint64_t offset = 0;
  std::string bytes;
  bool operator==(const FetchedOutput&) const = default;
};
struct DoorOpen {
  std::uint32_t id = 0;
  std::vector<std::int32_t> errors;  // errno for each of OpenDoor::addresses; 0: listening there
  bool operator==(const DoorOpen&) const = default;
};
struct Knocked {
  struct One {
    std::uint32_t address = 0;  // index into Knock::addresses
    std::int32_t error = 0;     // errno; 0: reached; EPROTO: something else answered
    std::uint32_t round_trip_us = 0;
    std::string local_address;  // of the connection; `interface` has this address
    std::string interface;
    bool operator==(const One&) const = default;
  };
  std::uint32_t id = 0;
  std::vector<One> results;
  bool operator==(const Knocked&) const = default;
};

// ---- both ways

/// The first message on a connection that continues a session whose connection was lost; the
/// launcher sends first. Outside the control sequence. The sender has received every control frame
/// up to `control_received` and, of each listed stream, the bytes below `received`. A stream that
/// is not listed has either ended for the sender (it has received the OutputEnd), or the sender has
/// received no bytes of it.
struct Resume {
  struct Received {
    Attempt attempt;
    Rank rank;
    Stream stream = Stream::out;
    std::uint64_t received = 0;
    bool operator==(const Received&) const = default;
  };
  std::uint32_t connection = 1;  // counted by the launcher; the agent repeats the number
  std::uint64_t control_received = 0;
  std::vector<Received> streams{};  // launcher -> agent only
  bool operator==(const Resume&) const = default;
};

// ---- copying the workdir, launcher -> agent. One pass is SyncBegin, SyncEntries ..., then
// SyncData with what the agent requests, and SyncEnd. `id` counts passes; messages of an earlier
// pass are ignored. An entry's number is its index over all SyncEntries of the pass.

/// -> SyncFolder
struct SyncBegin {
  std::uint32_t id = 0;
  std::string root;    // absolute; made if it is missing
  std::string marker;  // file name: a node that finds it in `root` sees the launcher's own folder
  std::string origin;  // the launcher's machine, for this node's record of synced files
  bool operator==(const SyncBegin&) const = default;
};
/// Each path once, folders before their contents. -> SyncWants, SyncTaken
struct SyncEntries {
  std::uint32_t id = 0;
  std::vector<SyncEntry> entries;
  bool last = false;
  bool operator==(const SyncEntries&) const = default;
};
/// `same`: entries whose reported hash matches. `skipped`: requested entries whose content will not
/// be sent, because the file no longer matches its entry.
struct SyncSettled {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> same;
  std::vector<std::uint32_t> skipped;
  bool operator==(const SyncSettled&) const = default;
};
/// The node must remove these paths, which it had reported as `gone`; contents precede their
/// folder.
struct SyncRemove {
  std::uint32_t id = 0;
  std::vector<std::string> paths;
  bool operator==(const SyncRemove&) const = default;
};
/// Content of the requested files, each in order from its beginning to its size. Travels raw.
/// -> SyncTaken
struct SyncData {
  struct Piece {
    std::uint32_t entry = 0;
    std::uint64_t offset = 0;
    std::string bytes;
    bool operator==(const Piece&) const = default;
  };
  std::uint32_t id = 0;
  std::vector<Piece> pieces;
  bool operator==(const SyncData&) const = default;
};
/// The launcher has sent everything. -> SyncDone
struct SyncEnd {
  std::uint32_t id = 0;
  bool operator==(const SyncEnd&) const = default;
};

// ---- copying the workdir, agent -> launcher

struct SyncFolder {
  std::uint32_t id = 0;
  bool is_shared = false;  // the marker exists: nothing needs copying
  bool operator==(const SyncFolder&) const = default;
};
/// What the node lacks; sent in parts while the node compares.
struct SyncWants {
  /// The node has a file of this size whose time differs; `hash` is of its content.
  struct Content {
    std::uint32_t entry = 0;
    ContentHash hash;
    bool operator==(const Content&) const = default;
  };
  std::uint32_t id = 0;
  std::vector<std::uint32_t> wanted;
  std::vector<Content> contents;
  std::vector<std::string> gone;  // paths from earlier syncs that are not among the entries
  bool last = false;              // the node has examined every entry
  bool operator==(const SyncWants&) const = default;
};
/// Allows the launcher to send more: the total cost (sync/rules.h) of all SyncEntries and SyncData
/// taken so far.
struct SyncTaken {
  std::uint32_t id = 0;
  std::uint64_t up_to = 0;
  bool operator==(const SyncTaken&) const = default;
};
/// The answer to SyncEnd. With a problem, the node may send it at any time, and it ends the pass.
struct SyncDone {
  std::uint32_t id = 0;
  std::string problem;  // "/home/me/job/data: No space left on device"
  std::uint64_t removed = 0;
  std::uint64_t replaced = 0;         // files that had other content and came from no sync
  std::vector<std::string> examples;  // a few of the replaced files
  bool operator==(const SyncDone&) const = default;
};

// ---- MPI: docs/how-to/run-mpi-programs.md. The launcher only forwards what the nodes' PMIx
// servers and PMI-1 ranks send each other (launch/mpi/pmix_relay.h).

/// Maximum bytes of one fence or of one rank's data, so that a frame has room for them and their
/// header.
inline constexpr std::size_t kMostPmixBytes = 16U * 1024 * 1024 - 65536;
/// Maximum spans for the members of a fence; the agent refuses more.
inline constexpr std::uint32_t kMostSpans = 4096;

/// launcher -> agent, before the first StartRanks: the attempt's ranks are MPI programs; start
/// their PMIx server. -> PmixReady
struct PreparePmix {
  struct Node {
    std::string name;
    std::vector<RankSpan> ranks;
    bool operator==(const Node&) const = default;
  };
  Attempt attempt;
  std::string name_space;   // of the attempt, the same on all nodes
  std::vector<Node> nodes;  // index = NodeRank
  bool pmix = true;         // false: the agent starts no server
  bool pmi1 = true;         // ranks get a socket for PMI-1
  std::uint32_t own = 0;    // index into `nodes`: the receiving node
  bool operator==(const PreparePmix&) const = default;
};
/// agent -> launcher
struct PmixReady {
  Attempt attempt;
  std::string refused;  // why there is no server; empty: it is ready, or none is wanted
  bool operator==(const PmixReady&) const = default;
};
/// Agent -> launcher: all members on this node have entered the fence. Launcher -> agent: all
/// members on all nodes have entered it, and `bytes` joins the bytes of their nodes. `counter`
/// numbers the fences of these members. Travels raw, in sequence.
struct PmixFence {
  Attempt attempt;
  std::uint64_t counter = 0;
  std::int32_t status = 0;        // of PMIx, or one of kPmi1*; 0: success
  std::vector<RankSpan> members;  // in the form of spans_of(); empty: all ranks of the job
  std::string bytes;
  // A PMI-1 barrier: its members are all ranks, its bytes those of KeySpace::take_puts().
  bool pmi1 = false;
  bool operator==(const PmixFence&) const = default;
};
/// `status` of a failed PMI-1 barrier; later ones of the attempt fail too.
inline constexpr std::int32_t kPmi1RankGone = -1;  // a rank that should have entered it has ended
inline constexpr std::int32_t kPmi1Mixed = -2;     // other ranks use PMIx
inline constexpr std::int32_t kPmi1TooMuch = -3;   // more bytes than kMostPmixBytes
/// Requests what `rank` has published. An agent sends it to the launcher, and the launcher forwards
/// it to the agent of that rank. -> PmixData with the same id, chosen by the requester
struct PmixWanted {
  Attempt attempt;
  std::uint32_t id = 0;
  Rank rank;
  bool operator==(const PmixWanted&) const = default;
};
/// Travels raw, in sequence.
struct PmixData {
  Attempt attempt;
  std::uint32_t id = 0;
  std::int32_t status = 0;
  std::string bytes;
  bool operator==(const PmixData&) const = default;
};

// ---- signals that are not meant to end a run

/// To the agent: forward a signal to the ranks; the signal does not affect how their exits are
/// judged. If a rank's leader is a shell that we added, its children get the signal instead.
struct SignalRanks {
  Attempt attempt;
  std::int32_t signal = 0;
  bool operator==(const SignalRanks&) const = default;
};
/// From an agent in a scheduler's step: the agent or its guardian received a signal, which may
/// concern the whole job (a time limit, preemption, --signal).
struct Signalled {
  std::int32_t signal = 0;
  bool operator==(const Signalled&) const = default;
};

// ---- another launcher, mpirun, that starts the ranks: docs/internals/architecture.md, "mpirun"

/// Agent -> launcher, after the last StartRanks with a join_folder: ranks may connect.
struct RanksAwaited {
  Attempt attempt;
  bool operator==(const RanksAwaited&) const = default;
};
/// To node 0, once all nodes await their ranks. -> MpirunEnded, unless the attempt ends first
struct StartMpirun {
  Attempt attempt;
  std::vector<std::string> argv;  // at least one element
  Environment env;                // on top of what ranks inherit here, without scrubbed variables
  bool operator==(const StartMpirun&) const = default;
};
/// mpirun's own output, without NUL; at most kMostMpirunOutput bytes of it in an
/// attempt.
struct MpirunOutput {
  Attempt attempt;
  std::string bytes;
  bool operator==(const MpirunOutput&) const = default;
};
inline constexpr std::size_t kMostMpirunOutput = 1024 * 1024;
struct MpirunEnded {
  Attempt attempt;
  ExitStatus status;
  WallTime at;
  bool after_signal = false;  // dlaunch had signalled it
  bool operator==(const MpirunEnded&) const = default;
};

// ---- the end of a scheduler's time limit

/// To the agent: ranks of the attempt may be killed after `at`. The agent writes this time to a
/// file for the ranks.
struct Deadline {
  Attempt attempt;
  std::string path;  // absolute; replaced
  WallTime at;
  bool operator==(const Deadline&) const = default;
};

// ---- preemption: docs/how-to/survive-preemption.md

/// agent -> launcher, once in an attempt: this node is about to be taken away.
struct PreemptionNotice {
  Attempt attempt;
  std::string reason;         // one line; may be empty
  std::int64_t left_ms = -1;  // time left until then; -1: unknown
  bool operator==(const PreemptionNotice&) const = default;
};

// ---- checkpoints: docs/how-to/survive-preemption.md

/// launcher -> agent, while the attempt runs. -> CheckpointsSeen
struct SeeCheckpoints {
  Attempt attempt;
  std::uint32_t id = 1;  // 1 or more
  bool operator==(const SeeCheckpoints&) const = default;
};
/// Also sent, without a SeeCheckpoints, before AttemptEnded.
struct CheckpointsSeen {
  Attempt attempt;
  std::uint32_t id = 0;  // of the SeeCheckpoints; 0: the last rank has ended
  CheckpointsFound found;
  bool operator==(const CheckpointsSeen&) const = default;
};
// ---- checks

/// launcher -> agent: asks for the node's condition. -> Inspected, within `limit_ms`
struct Inspect {
  std::vector<std::string> folders;  // absolute; report the free space of their file systems
  std::vector<std::string> code;     // absolute; report how quickly their files are read
  std::vector<std::string> programs;  // absolute; likewise of the Python environments they are in
  bool gpus = true;                  // query nvidia-smi and the kernel's log
  bool collectives = true;           // run `dlaunch collectives --probe`
  std::uint32_t limit_ms = 20000;
  // The environment in which the probe finds its libraries, as for measuring ranks: the agent's own
  // plus the variables of `carried` whose folders exist here, then `env`.
  Environment carried;  // of the launcher's machine; see node/ranks/carried_environment.h
  Environment env;      // without secrets
  bool operator==(const Inspect&) const = default;
};
/// agent -> launcher
struct Inspected {
  NodeCondition condition;
  bool operator==(const Inspected&) const = default;
};

// ---- where ranks stand: docs/how-to/see-where-ranks-stand.md

/// launcher -> agent: asks where these ranks and all their descendants stand. A later TakeStacks
/// replaces one that is not yet answered. -> StacksTaken
struct TakeStacks {
  Attempt attempt;
  std::uint32_t id = 0;
  std::vector<Rank> ranks;        // of this node
  std::string path;               // a PATH of the launcher's machine, where py-spy may be
  std::uint32_t limit_ms = 5000;  // for the whole answer
  bool native = false;            // as StacksQuestion::native
  bool operator==(const TakeStacks&) const = default;
};
/// agent -> launcher
struct StacksTaken {
  Attempt attempt;
  std::uint32_t id = 0;
  std::string problem;            // why there are no stacks
  std::vector<RankStacks> ranks;  // one for each requested rank
  bool operator==(const StacksTaken&) const = default;
};
/// launcher -> agent: a piece of the launcher's py-spy, for a node that lacks one
/// (RankStacks::lacks_py_spy); pieces come in order, and one at offset 0 starts over. Once the
/// agent has the whole program, it uses this program for every later TakeStacks. Travels raw. ->
/// PySpyTaken
struct PySpyData {
  std::uint64_t offset = 0;
  std::uint64_t size = 1;  // of the program; at most kMostPySpy
  std::string bytes;
  bool operator==(const PySpyData&) const = default;
};
inline constexpr std::uint64_t kMostPySpy = std::uint64_t{64} << 20;
/// agent -> launcher
struct PySpyTaken {
  std::uint64_t up_to = 0;
  std::string problem;  // why the node cannot have it
  bool operator==(const PySpyTaken&) const = default;
};

// ---- watching: docs/how-to/watch-a-run.md

/// agent -> launcher, at most every StartRanks::pulse_ms and at least every 10 s while the attempt
/// runs: reports the ranks for which something has changed.
struct Pulse {
  Attempt attempt;
  WallTime at;
  std::vector<RankPulse> ranks;
  NodePulse node;
  bool operator==(const Pulse&) const = default;
};

// ---- terminals beside ranks: docs/how-to/attach-to-a-rank.md. `id` is chosen by the launcher.

/// launcher -> agent: start `argv` on a new terminal in the environment, folder and container of
/// the rank; "{pid}" in `argv` stands for the rank's process. -> TerminalTaken of 0 bytes once it
/// runs, then TerminalOutput, and TerminalEnded in any case
struct OpenTerminal {
  Attempt attempt;
  std::uint32_t id = 0;
  Rank rank;
  std::vector<std::string> argv;
  Environment env;  // on top of the rank's
  std::uint32_t rows = 24;
  std::uint32_t columns = 80;
  bool is_terminal = true;  // false: three pipes
  bool operator==(const OpenTerminal&) const = default;
};
/// What the user has typed; at most kMostTerminal bytes more than the agent has reported as taken.
/// Empty: end of input.
struct TerminalInput {
  std::uint32_t id = 0;
  std::string bytes;
  bool operator==(const TerminalInput&) const = default;
};
struct ResizeTerminal {
  std::uint32_t id = 0;
  std::uint32_t rows = 24;
  std::uint32_t columns = 80;
  bool operator==(const ResizeTerminal&) const = default;
};
/// launcher -> agent: the user has taken this many bytes of output, and the agent may send at most
/// kMostTerminal bytes more. agent -> launcher: the same for the input that the program has taken.
struct TerminalTaken {
  std::uint32_t id = 0;
  std::uint64_t up_to = 0;
  bool operator==(const TerminalTaken&) const = default;
};
inline constexpr std::size_t kMostTerminal = std::size_t{256} << 10;
/// The user has left: the processes of this terminal get SIGHUP, then SIGKILL.
struct CloseTerminal {
  std::uint32_t id = 0;
  bool operator==(const CloseTerminal&) const = default;
};
/// agent -> launcher
struct TerminalOutput {
  std::uint32_t id = 0;
  Stream stream = Stream::out;  // err only if is_terminal is false
  std::string bytes;
  bool operator==(const TerminalOutput&) const = default;
};
struct TerminalEnded {
  std::uint32_t id = 0;
  std::string problem;  // why the terminal was closed or could not be opened; empty: the program
                        // has ended with `status`
  ExitStatus status;
  bool operator==(const TerminalEnded&) const = default;
};

// ---- staging: docs/how-to/stage-data.md. `id` is the staging's, chosen by the launcher; messages
// of an earlier staging are ignored. An entry's number is its index over all StageEntries; blocks
// are numbered by the BlockMap (sync/blocks.h) of the entries' sizes. The conversation: StageBegin,
// StageClaimed; when all nodes have claimed, StageEntries ..., StageWants ...; when all wants are
// known, StageStream and the answer StageReady; when all nodes are ready, StageFeed, and StageDone
// at the end; StageOver.

/// launcher -> agent. -> StageClaimed
struct StageBegin {
  std::uint32_t id = 0;
  std::vector<std::string> roots;  // absolute folders
  std::vector<StageOrigin> origins;  // one for each root
  std::vector<std::string> needs;    // other absolute paths that staged environments need
  std::string by{};                  // who stages; shown to other stagings of the same targets
  bool for_ranks = false;            // ranks use the targets afterwards
  bool operator==(const StageBegin&) const = default;
};
/// launcher -> agent: each path once, folders before their contents. -> StageWants
struct StageEntries {
  std::uint32_t id = 0;
  std::vector<StageEntry> entries;
  bool last = false;
  bool operator==(const StageEntries&) const = default;
};
/// launcher -> agent: the blocks that this node gets (the same for all nodes that get any), and the
/// entries that it already has except for mode and time. The node writes nothing before StageFeed.
/// -> StageReady
struct StageStream {
  std::uint32_t id = 0;
  std::vector<BlockRun> runs;
  std::vector<std::uint32_t> same;
  bool last = false;
  /// The blocks come from the sender itself, never from another node: a file whose blocks are all
  /// in the stream needs no hash.
  bool is_direct = false;
  bool holds = false;  // the node has all these blocks in its files, and may feed others with them
  bool operator==(const StageStream&) const = default;
};
/// launcher -> agent: the hashes of whole files, four words for each.
struct StageHashes {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> entries;
  std::vector<std::uint64_t> words;
  bool operator==(const StageHashes&) const = default;
};
/// launcher -> agent: listen at these addresses for one connection and feed it. -> StageListening
struct StageServe {
  std::uint32_t id = 0;
  std::uint32_t link = 0;  // of this connection, as in StageFeed
  StageKey key;
  std::vector<std::string> addresses;
  std::uint32_t limit_ms = 10000;  // time for the connection to arrive
  NodeId guest{};                  // the node that will connect
  bool operator==(const StageServe&) const = default;
};
/// launcher -> agent: make the entries that need no content, and get the blocks from this
/// connection instead of any earlier one. -> StageLinked
struct StageFeed {
  std::uint32_t id = 0;
  std::uint32_t link = 0;
  StageKey key;
  std::vector<StageAddress> at;  // any of them; empty: the blocks come as StageData
  std::uint32_t limit_ms = 10000;
  bool operator==(const StageFeed&) const = default;
};
/// launcher -> agent: pieces (sync/pieces.h), in the order of the stream. Travels raw.
/// -> StageProgress
struct StageData {
  std::uint32_t id = 0;
  std::uint32_t link = 0;
  std::string bytes;
  bool operator==(const StageData&) const = default;
};
/// launcher -> agent: close all connections. Incomplete files stay for the next staging.
struct StageOver {
  std::uint32_t id = 0;
  bool operator==(const StageOver&) const = default;
};

/// agent -> launcher: this staging has claimed all targets; or, with `by`, another staging holds
/// one of them, and the launcher tries again later.
struct StageClaimed {
  std::uint32_t id = 0;
  std::string by;      // who holds a target
  std::string target;  // that target
  bool operator==(const StageClaimed&) const = default;
};
/// agent -> launcher: files whose content the node lacks, or whose content must be compared.
struct StageWants {
  std::uint32_t id = 0;
  std::vector<StageWant> wants;
  std::vector<std::uint32_t> missing;  // indexes into StageBegin::needs; only in the first message
  std::uint32_t looked = 0;            // entries that the node has examined so far
  bool last = false;
  bool operator==(const StageWants&) const = default;
};
/// agent -> launcher: the node has room for the stream.
struct StageReady {
  std::uint32_t id = 0;
  bool operator==(const StageReady&) const = default;
};
/// agent -> launcher: the requested addresses that the agent listens at; none: it cannot listen.
struct StageListening {
  std::uint32_t id = 0;
  std::uint32_t link = 0;
  std::vector<StageAddress> at;
  bool operator==(const StageListening&) const = default;
};
/// agent -> launcher: the node is connected, and the stream continues from `position`; or, with a
/// problem, the node could not connect, or its connection has ended.
struct StageLinked {
  std::uint32_t id = 0;
  std::uint32_t link = 0;
  std::uint64_t position = 0;
  std::string problem;
  bool operator==(const StageLinked&) const = default;
};
/// agent -> launcher
struct StageProgress {
  std::uint32_t id = 0;
  std::uint32_t link = 0;
  std::uint64_t position = 0;  // blocks of the stream that are on the node's disk
  std::uint64_t taken = 0;     // bytes of all StageData of the link
  std::uint64_t work = 0;      // grows while the node works, even if `position` does not
  bool operator==(const StageProgress&) const = default;
};
/// agent -> launcher: everything has arrived; or, with a problem, the staging has failed on this
/// node. The agent may send it at any time.
struct StageDone {
  std::uint32_t id = 0;
  std::string problem;        // "/local/data: No space left on device"
  std::uint64_t removed = 0;  // files and folders that the source no longer has
  std::uint64_t skipped = 0;  // devices, FIFOs and sockets in archives
  bool operator==(const StageDone&) const = default;
};

// ---- collecting: docs/how-to/collect-results.md. A staging in the other direction: the agent
// sends what the launcher sends above, and the launcher answers as a node does. There is only one
// target, so StageServe and StageListening do not occur.

/// launcher -> agent: copy these to the launcher. `to` is a path on the launcher's machine; if it
/// ends with a slash, it is the folder for the file. -> StageBegin ..., CollectDone
struct CollectBegin {
  std::uint32_t id = 0;          // of the collection; its staging has an id chosen by the agent
  std::vector<StageItem> items;  // `from`: absolute, or "~/..." in the node's home folder
  std::uint64_t most_bytes = 0;  // limit for all items together; 0: no limit
  bool operator==(const CollectBegin&) const = default;
};
/// agent -> launcher: the collection is over. With a problem, the launcher keeps what has arrived.
struct CollectDone {
  std::uint32_t id = 0;
  std::string problem;
  std::uint64_t files = 0;  // in all items
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> missing;  // indexes of items that do not exist
  std::vector<std::string> special;    // sockets, devices, FIFOs, which are not copied
  bool operator==(const CollectDone&) const = default;
};

// ---- staging from a node: its agent sends what the launcher sends above, to all nodes at once.
// The launcher forwards these messages and the nodes' answers, each in a StageLetter.

/// A node that gets the files.
struct StagePeer {
  NodeId node;
  std::string name;
  bool forwards = true;                // may feed other nodes and be fed by them
  std::vector<std::string> addresses;  // of the source, to which this peer may connect
  bool operator==(const StagePeer&) const = default;
};
/// launcher -> agent: stage these files of the agent's node; no peers: end the staging.
/// -> StageLetter ..., StageReported
struct StageFrom {
  std::uint32_t id = 0;  // of the letters; the staging in them has an id chosen by the agent
  std::vector<StageItem> items;
  std::vector<StagePeer> peers;
  std::string self;  // the user's name for this node
  std::string by;    // as in StageBegin; so is `for_ranks`
  bool for_ranks = false;
  bool needs_all = true;          // nodes must have everything that staged environments need
  std::uint32_t window_ms = 500;  // delay of each peer's sync::Window
  bool operator==(const StageFrom&) const = default;
};
/// agent -> launcher: a StageOrder for a node. launcher -> agent: a node's StageAnswer. `type` and
/// `payload` are those of the order's or answer's frame. Travels raw.
struct StageLetter {
  std::uint32_t id = 0;
  NodeId node;
  std::uint16_t type = 0;
  std::string payload;
  bool operator==(const StageLetter&) const = default;
};
/// launcher -> agent: this peer is lost; the staging goes on with the others.
struct StageLost {
  std::uint32_t id = 0;
  NodeId node;
  bool operator==(const StageLost&) const = default;
};
/// agent -> launcher: the progress line for a terminal, which may be empty, or a note.
struct StageSaid {
  std::uint32_t id = 0;
  std::string text;
  bool is_note = false;
  bool operator==(const StageSaid&) const = default;
};
/// agent -> launcher: the staging is over; an exit code other than 0 means that it has failed.
struct StageReported {
  std::uint32_t id = 0;
  std::uint8_t exit_code = 0;
  std::string problem;
  std::vector<StagedNode> nodes;
  std::uint64_t files = 0;  // in all items
  std::uint64_t bytes = 0;
  std::vector<std::string> special;  // as in CollectDone
  std::vector<std::string> notes;
  bool operator==(const StageReported&) const = default;
};

// ---- what was staged

/// launcher -> agent: asks what stagings have put on this node. -> StagedSeen
struct SeeStaged {
  bool clean = false;              // also remove it, except what is in use
  std::vector<std::string> paths;  // only at or below these; none: anywhere
  std::uint32_t limit_ms = 60000;
  bool operator==(const SeeStaged&) const = default;
};
/// agent -> launcher
struct StagedSeen {
  std::vector<StagedTarget> targets;
  std::string problem;  // why `targets` is incomplete
  bool operator==(const StagedSeen&) const = default;
};

// ---- dlaunch itself, for nodes that lack it

/// launcher -> agent: listen for one guest that presents this ticket, and send it the program that
/// the agent itself executes. -> ProgramServed
struct ServeProgram {
  std::uint32_t id = 0;            // of the guest, chosen by the launcher
  std::string ticket;              // a string from random_secret()
  std::uint32_t limit_ms = 10000;  // until the guest has all of it
  bool operator==(const ServeProgram&) const = default;
};
/// agent -> launcher: where the agent listens; none: it cannot listen.
struct ProgramServed {
  std::uint32_t id = 0;
  std::vector<StageAddress> at;
  bool operator==(const ProgramServed&) const = default;
};

// ---- which end sends what

template <class... Groups>
struct Joined;
template <class... A>
struct Joined<std::variant<A...>> {
  using Type = std::variant<A...>;
};
template <class... A, class... B, class... Rest>
struct Joined<std::variant<A...>, std::variant<B...>, Rest...> {
  using Type = typename Joined<std::variant<A..., B...>, Rest...>::Type;
};
template <class Variant, class T>
inline constexpr bool kHolds = false;
template <class... A, class T>
inline constexpr bool kHolds<std::variant<A...>, T> = (std::is_same_v<A, T> || ...);

/// Converts a message from its group to a larger one, which must contain every message of its own
/// group.
template <class Larger, class... Messages>
[[nodiscard]] Larger widened(std::variant<Messages...> message) {
  return std::visit([](auto& one) -> Larger { return std::move(one); }, message);
}

/// T is one of the messages in Variant.
template <class T, class Variant>
concept OneOf = kHolds<Variant, T>;

/// The channel's own messages, in both directions: os/channel sends and receives them; its users
/// never see them.
using ChannelMessage = std::variant<Ack, Resume>;

/// Handled by node/stage/stage_service.h.
using StageOrder = std::variant<StageBegin, StageEntries, StageStream, StageHashes, StageServe,
                                StageFeed, StageData, StageOver>;
using StageAnswer = std::variant<StageWants, StageReady, StageListening, StageLinked, StageProgress,
                                 StageDone, StageClaimed>;
using ToAgent = std::variant<
    Hello, Heartbeat, Bye, FactsRequest, StartRanks, StopRanks, KillRanks, OutputCredit, StdinData,
    CheckPrerequisites, FetchOutput, ForgetOutput, OpenDoor, Knock, CloseDoor, SyncBegin,
    SyncEntries, SyncSettled, SyncRemove, SyncData, SyncEnd, PreparePmix, PmixFence, PmixWanted,
    PmixData, SignalRanks, StartMpirun, Deadline, Inspect, TakeStacks, OpenTerminal, TerminalInput,
    ResizeTerminal, TerminalTaken, CloseTerminal, PySpyData, SeeCheckpoints, StageBegin,
    StageEntries, StageStream, StageHashes, StageServe, StageFeed, StageData, StageOver,
    CollectBegin, StageWants, StageReady, StageListening, StageLinked, StageProgress, StageDone,
    StageClaimed, SeeStaged, ServeProgram, StageFrom, StageLetter, StageLost>;

/// Handled by the session itself (launch/session/session.h).
using SessionMessages = std::variant<Hello, Heartbeat, Bye, ProgramServed>;
/// Answers to what the launcher asks before it starts ranks.
using ReachAnswer = std::variant<DoorOpen, Knocked>;
using SyncAnswer = std::variant<SyncFolder, SyncWants, SyncTaken, SyncDone>;
using FromNodeAnswer = std::variant<StageLetter, StageSaid, StageReported>;  // to StageFrom
using Answers = Joined<std::variant<Facts, PrerequisitesMissing, PmixReady, Inspected>, ReachAnswer,
                       SyncAnswer, StageAnswer, FromNodeAnswer>::Type;
/// Answers to CollectBegin.
using CollectAnswer = Joined<StageOrder, std::variant<CollectDone>>::Type;
/// Sent only by an agent that was told to start ranks, or that runs in a scheduler's step.
using RunMessages =
    std::variant<RanksStarted, RankNotStarted, RankExited, OutputData, OutputEnd, StdinTaken,
                 AttemptEnded, PortTaken, FetchedOutput, PmixFence, PmixWanted, PmixData, Signalled,
                 RanksAwaited, MpirunOutput, MpirunEnded, StacksTaken, Pulse, TerminalOutput,
                 TerminalTaken, TerminalEnded, PySpyTaken, PreemptionNotice, CheckpointsSeen>;
/// Every message from an agent is in one of these groups. A receiver visits them without a default
/// case; it handles a group whose messages it never requests with a single overload: `on(const
/// OneOf<RunMessages> auto&)`.
using FromAgent = Joined<SessionMessages, Answers, RunMessages, CollectAnswer,
                         std::variant<StagedSeen, Notice>>::Type;

}  // namespace dlaunch::wire
