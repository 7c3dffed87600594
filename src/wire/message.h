// The messages between launcher and agent, as values. docs/internals/wire-protocol.md describes
// them for readers; codec.h turns them into frames and back. Thread-safety: plain values.
//
// Order of a session: Hello both ways (first on the channel), FactsRequest -> Facts, StartRanks ->
// RanksStarted / RankNotStarted, output and RankExited, AttemptEnded, then Bye both ways. A channel
// that ends without Bye has broken: the agent acts as
// docs/internals/architecture.md says ("Broken connections"). A
// session that goes on over a new connection begins there with Resume both ways.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/cluster.h"
#include "model/environment.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/node_condition.h"
#include "model/python.h"
#include "model/rank_span.h"
#include "model/sync.h"
#include "model/time.h"

namespace dlaunch::wire {

/// Changes whenever a message or the frame changes its meaning. Both ends must have the same one.
inline constexpr std::uint32_t kProtocolVersion = 6;

/// What a rank leaves behind on its node: both streams, and the file that its framework may write
/// about an exception (rank-<n>.error.json).
enum class OutputPart : std::uint8_t { out = 1, err = 2, error_file = 3 };

/// Bytes that one FetchOutput may ask for: the agent keeps an answer until it is acknowledged.
inline constexpr std::uint32_t kMostFetched = 131072;

// ---- both ways

struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string build_id;
  // launcher -> agent only:
  std::string node_name;                 // as the user calls the node
  std::uint32_t heartbeat_ms = 1000;     // how often each end says it is alive
  std::uint32_t fence_after_ms = 10000;  // silence after which the agent kills its ranks
  bool keep_on_channel_loss =
      false;  // network connectors: wait fence_after for a reconnect; fork: no
  bool operator==(const Hello&) const = default;
};
/// Sent at every beat. The launcher also answers each one of the agent's at once: the agent's ranks
/// may run only as long as the launcher is known to hear of them (node/session/lease.h). What
/// comes back also tells the round trip, and so the difference of the two clocks (clock_offset.h).
struct Heartbeat {
  WallTime at;             // sender's clock
  std::uint64_t sent = 0;  // nanoseconds on the sender's monotonic clock; means nothing elsewhere
  std::uint64_t echo = 0;  // `sent` of the latest Heartbeat from the other end; 0: none so far
  std::uint64_t held = 0;  // nanoseconds from the arrival of that one to the sending of this one
  bool operator==(const Heartbeat&) const = default;
};
/// Cumulative: every control frame up to and including `sequence` has arrived.
struct Ack {
  std::uint64_t sequence = 0;
  bool operator==(const Ack&) const = default;
};
/// The orderly end. The agent answers it with its own Bye and exits.
struct Bye {
  bool operator==(const Bye&) const = default;
};

// ---- launcher -> agent

/// Asks for NodeFacts; sent once per attempt, because ports are new for each.
struct FactsRequest {
  std::uint32_t ports = 0;  // how many free ports to find and hold
  std::vector<std::uint16_t>
      fixed_ports;    // ports chosen by the user: hold them, or say who has them
  Attempt attempt{};  // for which they are asked
  /// Name of the folder, without '/', that the agent makes for the output of this run's ranks here
  /// (NodeFacts::output_folder). Empty: none is wanted, StartRanks::log_folder says where.
  std::string output_name{};
  std::vector<std::string> variables{};  // names: their values there are asked for
  /// Names of mpirun, of which the first that is there is asked for its version; none: not asked.
  std::vector<std::string> mpirun{};
  std::optional<std::string> search_path{};  // for them, where the job sets PATH
  Environment carried{};  // as in StartRanks, where mpirun or settings of Open MPI are asked for
  /// Programs that run containers: which of them are there, and what else a container needs to
  /// know of the node; none: not asked.
  std::vector<std::string> containers{};
  bool pmix = false;  // whether the node can serve PMIx
  /// Whether the plan needs what leads to other nodes: interfaces, network hardware, the machine's
  /// identity.
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
  std::uint32_t container = 0;  // number of one of StartRanks::containers, from 1 on; 0: in none
  bool operator==(const StartRank&) const = default;
};
/// How ranks come into a container; see ContainerPlan. Such a rank has the container's environment,
/// and what is set here on top, but nothing of the agent's.
struct StartContainer {
  std::vector<std::string> argv;  // at least one
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
/// A rank's environment: the agent's own with what of `carried` has its folders here, less `scrub`,
/// then what of `defaults` it lacks, then `env`, then StartRank::env; later wins. Large jobs come
/// in several of these; `last` marks the final one of the attempt on this node.
struct StartRanks {
  Attempt attempt;
  std::string log_folder;  // where rank-<n>.out and .err go, absolute, exists; empty: the agent's
                           // own session folder
  std::string workdir;     // absolute
  std::vector<std::string> scrub;  // names and patterns with '*'
  Environment env;
  std::vector<StartCommand> commands;
  std::vector<StartRank> ranks;
  std::uint32_t output_credit =
      0;  // bytes of each stream that may be sent before OutputCredit comes
  bool last = true;
  std::vector<StartFile> files;
  Environment carried;   // of the launcher's machine; see node/ranks/carried_environment.h
  Environment defaults;  // set where neither the environment so far nor anything later sets them
  /// Not empty: another launcher starts the ranks. The agent makes this folder, with a link to
  /// dlaunch in it, and starts each rank when `dlaunch exec --join` comes for it
  /// (node/mpi/join_listener.h).
  /// -> RanksAwaited
  std::string join_folder{};
  bool are_mpi = false;     // with join_folder: a rank that never meets mpirun has failed
  std::uint32_t world = 0;  // ranks of the job, on all nodes
  std::vector<StartContainer> containers{};
  std::string entry_folder{};  // where they come (node/containers/container_folder.h); empty: no
                               // containers
  bool operator==(const StartRanks&) const = default;
};
/// Signal to the leaders of these ranks of the attempt (and to the direct children of our own
/// shells). No list: of all ranks, and no further one is started.
struct StopRanks {
  Attempt attempt;
  std::int32_t signal = 0;
  std::vector<Rank> ranks{};
  bool operator==(const StopRanks&) const = default;
};
/// SIGKILL to these ranks and all that is below them. No list: to everything of the attempt.
struct KillRanks {
  Attempt attempt;
  std::vector<Rank> ranks{};
  bool operator==(const KillRanks&) const = default;
};
/// The stream may be sent up to this offset (bytes since its start), which never goes back. When
/// more than `keep_last` bytes wait to be sent, only the last of them are, from the start of a line
/// on and whatever `up_to` says; 0: nothing more of the stream is wanted, now and later.
struct OutputCredit {
  Attempt attempt;
  Rank rank;
  Stream stream = Stream::out;
  std::uint64_t up_to = 0;
  std::uint64_t keep_last = ~std::uint64_t{0};
  bool operator==(const OutputCredit&) const = default;
};
/// To node 0: listen on the port, which must be one that it holds, at these addresses, for the
/// other nodes to find out which of them they reach. A connection that does not begin with `nonce`
/// gets no answer. -> DoorOpen
struct OpenDoor {
  std::uint32_t id = 0;  // of this check
  std::vector<std::string> addresses;
  bool any_address = false;  // one that is no address of the node is among them: listen at all
  std::uint16_t port = 0;
  std::string nonce;
  std::string answer;
  std::uint32_t limit_ms = 10000;  // the door is closed then in any case
  bool operator==(const OpenDoor&) const = default;
};
/// To the other nodes: try to connect to all of these at once. -> Knocked, as they are known
struct Knock {
  std::uint32_t id = 0;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string nonce;   // to be sent
  std::string answer;  // to come back
  std::uint32_t limit_ms = 10000;
  bool operator==(const Knock&) const = default;
};
/// The check is over: the door is closed, what is still being tried is given up.
struct CloseDoor {
  std::uint32_t id = 0;
  bool operator==(const CloseDoor&) const = default;
};

/// Bytes for the stdin of the rank that wants it; an empty one closes it.
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
/// No rank after this one is started on the node.
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
  bool after_signal = false;  // the agent had sent it our stop or kill before it ended
  bool operator==(const RankExited&) const = default;
};
/// Bytes of a rank's stream. Travels raw, outside the control sequence: `offset` says where it
/// belongs. There is much of it, so the bytes are not copied: they stay where they were received,
/// or are to be sent from.
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
/// How much of the job's stdin the rank has taken, in bytes since its start.
struct StdinTaken {
  Attempt attempt;
  std::uint64_t up_to = 0;
  bool closed = false;  // the rank does not read any more
  bool operator==(const StdinTaken&) const = default;
};
/// Every rank of the attempt on this node has ended, its output is complete, and nothing it started
/// is left.
struct AttemptEnded {
  Attempt attempt;
  std::uint32_t leftovers = 0;
  bool operator==(const AttemptEnded&) const = default;
};
/// Something a person should know ("the log disk is full"); one sentence.
struct Notice {
  std::string text;
  bool operator==(const Notice&) const = default;
};

/// A rank has failed, and a port that the agent had given free for one of the attempt's ranks is
/// listened on by a process that is none of the job. Sent before the RankExited.
struct PortTaken {
  Attempt attempt;
  Rank rank;  // the one that was to listen
  TakenPort taken;
  bool operator==(const PortTaken&) const = default;
};

// ---- launcher -> agent

/// Asks whether what ranks on this node need is there, before any is started.
/// -> PrerequisitesMissing
struct CheckPrerequisites {
  struct Program {
    std::string name;  // found as execvp(3) does
    std::optional<std::string>
        search_path;  // PATH, where the job sets it; else what ranks will have
    bool operator==(const Program&) const = default;
  };
  /// A program to look up; the answer says where it is. For a Python that runs something, look
  /// for that, too.
  struct Lookup {
    std::string name;
    std::optional<std::string> search_path;  // as of Program
    std::string expected;  // where the launcher's machine has it; empty: not known there
    PythonCommand python;  // empty: look up only its path
    Environment env;       // that the job sets, without secrets
    bool imports = false;  // report what the script imports, too
    bool operator==(const Lookup&) const = default;
  };
  Attempt attempt;
  std::string workdir;  // absolute
  Environment carried;  // as in StartRanks
  std::vector<Program> programs;
  std::vector<std::string> files;  // to be read; meant from the workdir
  std::vector<Lookup> lookups{};
  std::vector<std::string> folders{};  // absolute; the answer names missing ones
  bool operator==(const CheckPrerequisites&) const = default;
};
/// Asks for a part of what a rank has left on a node whose output is not stored by the launcher.
/// Each is answered by one FetchedOutput, in order.
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

/// All that is missing on the node, each as the reason why a rank could not be started; none: all
/// is there. And what was to be told.
struct PrerequisitesMissing {
  Attempt attempt;
  std::vector<StartFailure> missing;
  std::vector<FoundProgram> found{};  // one for each of CheckPrerequisites::lookups, in their order
  std::vector<std::string> folders{};  // those of CheckPrerequisites::folders that are not there
  bool operator==(const PrerequisitesMissing&) const = default;
};
/// What was asked for, as far as it is there: the bytes at `offset`, which is behind the one asked
/// for where bytes in between were lost. No bytes: nothing is there from `offset` on, where the
/// stream ends. Travels raw like OutputData, but in sequence.
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
  std::vector<std::int32_t> errors;  // index as in OpenDoor::addresses; errno, 0: it is open there
  bool operator==(const DoorOpen&) const = default;
};
struct Knocked {
  struct One {
    std::uint32_t address = 0;  // index into Knock::addresses
    std::int32_t error = 0;     // errno; 0: reached; EPROTO: somebody else answered
    std::uint32_t round_trip_us = 0;
    std::string local_address;  // of the connection, and the interface that has it
    std::string interface;
    bool operator==(const One&) const = default;
  };
  std::uint32_t id = 0;
  std::vector<One> results;
  bool operator==(const Knocked&) const = default;
};

// ---- both ways

/// First on a connection that goes on with a session whose connection was lost; the launcher speaks
/// first. Outside the control sequence. The sender has received every control frame up to
/// `control_received`, and of the streams that have not ended for it the bytes below `received`; of
/// a stream that is not listed, and whose OutputEnd it has not received either, nothing.
struct Resume {
  struct Received {
    Attempt attempt;
    Rank rank;
    Stream stream = Stream::out;
    std::uint64_t received = 0;
    bool operator==(const Received&) const = default;
  };
  std::uint32_t connection = 1;  // the launcher counts them; the agent's answer repeats the number
  std::uint64_t control_received = 0;
  std::vector<Received> streams{};  // launcher -> agent only
  bool operator==(const Resume&) const = default;
};

// ---- copying the workdir, launcher -> agent. One pass goes SyncBegin, SyncEntries ..., then what
// the agent asks for as SyncData, and SyncEnd. `id` counts passes; what is of an earlier one is
// passed over. An entry's number is its place in all SyncEntries of the pass.

/// -> SyncPlace
struct SyncBegin {
  std::uint32_t id = 0;
  std::string root;    // absolute; made if it is missing
  std::string marker;  // a name: whoever finds it in `root` sees the launcher's own folder
  std::string origin;  // the launcher's machine: of whose files this node keeps a record
  bool operator==(const SyncBegin&) const = default;
};
/// Parents before what is in them, each path once. -> SyncWants, SyncTaken
struct SyncEntries {
  std::uint32_t id = 0;
  std::vector<SyncEntry> entries;
  bool last = false;
  bool operator==(const SyncEntries&) const = default;
};
/// Of entries whose hash was sent: those with the same content. And of entries that were asked for:
/// those whose content will not come, because it is not any more what the entry says.
struct SyncSettled {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> same;
  std::vector<std::uint32_t> skipped;
  bool operator==(const SyncSettled&) const = default;
};
/// Of what the agent has named as gone: what is to be removed, folders after what is in them.
struct SyncRemove {
  std::uint32_t id = 0;
  std::vector<std::string> paths;
  bool operator==(const SyncRemove&) const = default;
};
/// Content of files that were asked for, each from its beginning to its size in order. Travels raw.
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
/// Everything was sent. -> SyncDone
struct SyncEnd {
  std::uint32_t id = 0;
  bool operator==(const SyncEnd&) const = default;
};

// ---- copying the workdir, agent -> launcher

struct SyncPlace {
  std::uint32_t id = 0;
  bool is_shared = false;  // the marker is there: nothing is to be copied
  bool operator==(const SyncPlace&) const = default;
};
/// What the node lacks, as it finds out.
struct SyncWants {
  /// The node has a file of this size and another time, with this content.
  struct Content {
    std::uint32_t entry = 0;
    ContentHash hash;
    bool operator==(const Content&) const = default;
  };
  std::uint32_t id = 0;
  std::vector<std::uint32_t> wanted;
  std::vector<Content> contents;
  std::vector<std::string> gone;  // what earlier syncs have put there and is not among the entries
  bool last = false;              // every entry was looked at
  bool operator==(const SyncWants&) const = default;
};
/// Room for more: the cost (sync/rules.h) of all SyncEntries and SyncData of the pass so far.
struct SyncTaken {
  std::uint32_t id = 0;
  std::uint64_t up_to = 0;
  bool operator==(const SyncTaken&) const = default;
};
/// The answer to SyncEnd; at any other time only with a problem, and then the end of the pass.
struct SyncDone {
  std::uint32_t id = 0;
  std::string problem;  // "/home/me/job/data: No space left on device"
  std::uint64_t removed = 0;
  std::uint64_t replaced = 0;         // files that no sync had put there, and that were different
  std::vector<std::string> examples;  // of these, a few
  bool operator==(const SyncDone&) const = default;
};

// ---- MPI: docs/how-to/run-mpi-programs.md. The launcher only passes on what the PMIx servers of
// the nodes have for each other, and their ranks of PMI-1 (launch/mpi/pmix_relay.h).

/// Bytes that one fence or one rank's data may have: a frame holds them with what goes before.
inline constexpr std::size_t kMostPmixBytes = 16U * 1024 * 1024 - 65536;
/// Spans that the members of a fence may need; more than that are refused by the agent.
inline constexpr std::uint32_t kMostSpans = 4096;

/// launcher -> agent: the attempt's ranks are MPI programs; make their PMIx server, before the
/// first StartRanks. -> PmixReady
struct PreparePmix {
  struct Node {
    std::string name;
    std::vector<RankSpan> ranks;
    bool operator==(const Node&) const = default;
  };
  Attempt attempt;
  std::string name_space;   // of the attempt, the same on all nodes
  std::vector<Node> nodes;  // index = NodeRank
  bool pmix = true;         // else no server is made
  bool pmi1 = true;         // ranks get a socket for PMI-1
  std::uint32_t own = 0;    // index into `nodes`: the node that gets this message
  bool operator==(const PreparePmix&) const = default;
};
/// agent -> launcher
struct PmixReady {
  Attempt attempt;
  std::string refused;  // why there is no server; empty: it waits for its ranks, or none is wanted
  bool operator==(const PmixReady&) const = default;
};
/// Agent -> launcher: all members on this node have come to the fence. Launcher -> agent: all on
/// all nodes have, and these are the bytes that their nodes have given. The `counter`th fence of
/// these members. Travels raw, in sequence.
struct PmixFence {
  Attempt attempt;
  std::uint64_t counter = 0;
  std::int32_t status = 0;        // of PMIx, or one of kPmi1*; 0: well
  std::vector<RankSpan> members;  // as spans_of() has them; empty: all of the job
  std::string bytes;
  // A barrier of PMI-1: its members are all ranks, its bytes what KeySpace::take_puts() gives.
  bool pmi1 = false;
  bool operator==(const PmixFence&) const = default;
};
/// `status` of a barrier of PMI-1 that comes to nothing; no later one does better.
inline constexpr std::int32_t kPmi1RankGone = -1;  // a rank has ended that would have to come
inline constexpr std::int32_t kPmi1Mixed = -2;     // other ranks have come by PMIx
inline constexpr std::int32_t kPmi1TooMuch = -3;   // more bytes than kMostPmixBytes
/// Asks for what `rank` has published; agent -> launcher, and launcher -> agent of that rank.
/// -> PmixData with the same id, which is the asker's
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

/// To the agent: pass a signal on to the ranks, which changes nothing in how their ends are
/// understood. Where a rank's leader is our own shell, to its children instead.
struct SignalRanks {
  Attempt attempt;
  std::int32_t signal = 0;
  bool operator==(const SignalRanks&) const = default;
};
/// From an agent in a step of a scheduler: guardian or agent got a signal, which may mean all of
/// the job (a time limit, preemption, --signal).
struct Signalled {
  std::int32_t signal = 0;
  bool operator==(const Signalled&) const = default;
};

// ---- another launcher, mpirun, that starts the ranks: docs/internals/architecture.md, "mpirun"

/// Agent -> launcher, after the last StartRanks with a join_folder: ranks may come.
struct RanksAwaited {
  Attempt attempt;
  bool operator==(const RanksAwaited&) const = default;
};
/// To node 0, when all nodes await their ranks. -> MpirunEnded, unless the attempt is over by then
struct StartMpirun {
  Attempt attempt;
  std::vector<std::string> argv;  // at least one
  Environment env;                // on top of what ranks on the node inherit, less what is scrubbed
  bool operator==(const StartMpirun&) const = default;
};
/// What mpirun itself has printed, without NUL; at most kMostMpirunOutput bytes of it in an
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
  bool after_signal = false;  // it was told to end
  bool operator==(const MpirunEnded&) const = default;
};

// ---- the end of the time that a scheduler gives

/// To the agent: ranks of the attempt may be killed from then on. For a file that they can look at.
struct Deadline {
  Attempt attempt;
  std::string path;  // absolute; written anew
  WallTime at;
  bool operator==(const Deadline&) const = default;
};

// ---- checks

/// launcher -> agent: asks in what condition the node is. -> Inspected, within `limit_ms`
struct Inspect {
  std::vector<std::string> folders;  // absolute; of whose file systems the room is asked
  bool gpus = true;                  // whether nvidia-smi and the kernel's log are asked
  bool collectives = true;           // whether `dlaunch collectives --probe` is
  std::uint32_t limit_ms = 20000;
  // What the probe finds its libraries by, as a rank that measures will: the agent's own with what
  // of `carried` has its folders here, then `env`.
  Environment carried;  // of the launcher's machine; see node/ranks/carried_environment.h
  Environment env;      // without secrets
  bool operator==(const Inspect&) const = default;
};
/// agent -> launcher
struct Inspected {
  NodeCondition condition;
  bool operator==(const Inspected&) const = default;
};

// ---- who may say what

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

/// T is one of the messages in Variant.
template <class T, class Variant>
concept OneOf = kHolds<Variant, T>;

/// The channel's own, in both directions: os/channel sends and takes them, its users never see
/// them.
using ChannelMessage = std::variant<Ack, Resume>;

using ToAgent = std::variant<Hello, Heartbeat, Bye, FactsRequest, StartRanks, StopRanks, KillRanks,
                             OutputCredit, StdinData, CheckPrerequisites, FetchOutput, ForgetOutput,
                             OpenDoor, Knock, CloseDoor, SyncBegin, SyncEntries, SyncSettled,
                             SyncRemove, SyncData, SyncEnd, PreparePmix, PmixFence, PmixWanted,
                             PmixData, SignalRanks, StartMpirun, Deadline, Inspect>;

/// What the session itself acts on (launch/session/session.h).
using SessionMessages = std::variant<Hello, Heartbeat, Bye>;
/// Answers to what a launcher asks before it starts ranks.
using ReachAnswer = std::variant<DoorOpen, Knocked>;
using SyncAnswer = std::variant<SyncPlace, SyncWants, SyncTaken, SyncDone>;
using Answers = Joined<std::variant<Facts, PrerequisitesMissing, PmixReady, Inspected>, ReachAnswer,
                       SyncAnswer>::Type;
/// What only an agent says that was told to start ranks, or that lives in a scheduler's step.
using RunMessages =
    std::variant<RanksStarted, RankNotStarted, RankExited, OutputData, OutputEnd, StdinTaken,
                 AttemptEnded, PortTaken, FetchedOutput, PmixFence, PmixWanted, PmixData, Signalled,
                 RanksAwaited, MpirunOutput, MpirunEnded>;
/// Every message of an agent is in one of these groups. A receiver visits without a default; one
/// that never asks for a group's messages names the group: `on(const OneOf<RunMessages> auto&)`.
using FromAgent = Joined<SessionMessages, Answers, RunMessages, std::variant<Notice>>::Type;

}  // namespace dlaunch::wire
