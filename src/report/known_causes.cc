#include "report/known_causes.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "model/rank_list.h"
#include "report/known_failures.h"
#include "report/metrics.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

/// A failed run, as the rows see it.
struct Failure {
  const SummaryInput& in;
  const Outcome& outcome;
  const RankEnd* end;  // of the rank that failed first; null: unknown
  [[nodiscard]] bool is_by_mpirun() const { return in.plan != nullptr && in.plan->mpirun; }
  [[nodiscard]] bool ended_in_mpi(MpiEnd how) const {
    return end != nullptr && end->status.mpi == how;
  }
};

struct KnownCause {
  std::string_view name;               // as in KnownFailure; empty: use the name in that table
  std::string_view exception;          // what the exception begins with; empty: any
  bool (*applies)(const Failure&);     // null: the exception suffices
  std::string (*why)(const Failure&);  // null: the error itself says it
  std::string (*advice)(const Failure&);
};

/// Advice for a program that reads from a terminal but has none.
std::string advice_for_stdin(const Failure& f, const std::string& call) {
  const Rank first = f.outcome.first.value_or(Rank(0));
  const std::string number = std::to_string(f.in.stdin_rank.value_or(first).value);
  const std::string guarded = "if os.environ[\"RANK\"] == \"" + number + "\": " + call;
  if (!f.in.stdin_rank) {
    return "dlaunch run --pty " + number + ": without it a rank's stdin is empty, and " + call +
           " fails; with it rank " + number + " has the terminal" +
           (f.in.report.ranks.size() > 1 ? "; guard the call: " + guarded : "");
  }
  // The rank had the terminal, so the user ended the program there.
  if (first == *f.in.stdin_rank) return "";
  return "only rank " + number + " reads the terminal: " + guarded;
}

/// Whether the rank got a SIGKILL that did not come from dlaunch.
bool was_killed(const Failure& f) {
  return f.end != nullptr && f.end->how == RankEnd::How::exited &&
         f.end->status.code() == exit_code::kSignalBase + SIGKILL;
}

std::string why_killed(const Failure& f) {
  const std::string by_shell =
      f.end->status.signaled ? "" : "137 is a shell's code for a program that SIGKILL ended; ";
  return by_shell + (f.end->status.oom_ruled_out
                         ? "the signal was sent neither by dlaunch nor, according to the "
                           "kernel's records, by its OOM killer"
                         : "the signal was not sent by dlaunch; dlaunch cannot read the records of "
                           "the kernel's OOM killer on that node (dmesg as root shows them)");
}

std::string who_killed(const Failure& f) {
  if (!f.end->status.oom_ruled_out)
    return "sudo dmesg -T | grep -i \"killed process\" on that node";
  return "the log of the scheduler or container engine on that node: they enforce limits with "
         "SIGKILL";
}

bool has_lost_peer(const Failure& f) {
  const auto& lost = f.outcome.lost_peer;
  return f.outcome.first && find_peer_loss(f.in.evidence) != nullptr &&
         std::find(lost.begin(), lost.end(), *f.outcome.first) != lost.end();
}

std::string why_peer_lost(const Failure& f) {
  const std::string means(find_peer_loss(f.in.evidence)->means);
  if (!f.outcome.left_early.empty()) {
    return "rank " + std::to_string(f.outcome.first->value) + ' ' + describe(f.end->status) +
           ", because " + means;
  }
  const std::vector<Rank> silent = suspects(f.in);
  if (silent.empty())
    return "the error says that " + means + ", and so do the errors of all others";
  return "the error says that " + means + "; for the cause, see the output of " +
         (silent.size() == 1 ? "rank " : "ranks ") + rank_ranges(silent);
}

std::string why_never_connected(const Failure& f) {
  if (f.is_by_mpirun()) {
    return "every rank of an MPI job must call MPI_Init, and this one did not connect to mpirun (" +
           f.in.plan->mpirun->name +
           "): the program was built with another MPI library, so each rank is a world of its own; "
           "or it is not an MPI program; or a container hides mpirun's server from it";
  }
  return "every rank of an MPI job must call MPI_Init, which connects it to dlaunch over PMIx "
         "(Open MPI) or PMI-1 (MPICH, Intel MPI); this one did not: it is not an MPI program, or "
         "its MPI library supports neither, or a container hides PMIx's server or the descriptor "
         "PMI_FD from it, or there is no server (a note says so)";
}

std::string what_else_for_mpi(const Failure& f) {
  if (f.is_by_mpirun()) {
    return "the mpirun of the library that the program was built with (mpi.program); or leave out "
           "mpi.launcher: dlaunch itself starts Open MPI and MPICH programs; framework: none for "
           "programs without MPI";
  }
  return "mpi.init: optional for programs that only read MPI's variables; framework: none for "
         "programs without MPI; for other MPI libraries their own mpirun, with mpi.launcher: "
         "mpirun";
}

std::string why_other_world(const Failure& f) {
  const std::size_t planned = f.in.plan == nullptr ? 0 : f.in.plan->ranks.size();
  return "the ranks of this job are one world" +
         (planned == 0 ? "" : " of " + std::to_string(planned)) +
         ", but this one's MPI library made a world of its own: something between dlaunch and the "
         "program changed or removed the variables that hold its rank (PMI_RANK, PMI_SIZE: "
         "env -i, sudo, a wrapper, a container that does not pass them)";
}

/// Names the Python that did not find a module.
std::string why_no_module(const Failure& f) {
  const LaunchPlan* plan = f.in.plan;
  if (plan == nullptr || !f.outcome.first || f.outcome.first->value >= plan->ranks.size())
    return "";
  const std::string& python = plan->nodes[plan->ranks[f.outcome.first->value].node.value].python;
  return python.empty() ? "" : "the interpreter was " + plain_line(python);
}

/// The row of the table (known_failures.h); null for a port that dlaunch chose, which is not the
/// program's fault.
const KnownFailure* row_of(const Failure& f) {
  if (f.end == nullptr || f.outcome.port) return nullptr;
  return find_known_failure(f.in.evidence, &f.end->status);
}

/// Whether ranks of other nodes failed in the same way, so that the cause is not this node.
bool failed_on_other_nodes(const Failure& f, NodeRank node) {
  return std::any_of(f.outcome.alike.begin(), f.outcome.alike.end(), [&](Rank rank) {
    return rank.value < f.in.plan->ranks.size() && f.in.plan->ranks[rank.value].node != node;
  });
}

std::string why_by_table(const Failure& f) {
  const KnownFailure& row = *row_of(f);
  std::string why(row.why);
  const LaunchPlan* plan = f.in.plan;
  const bool knows_node = plan != nullptr && plan->nodes.size() > 1 && f.outcome.first &&
                          f.outcome.first->value < plan->ranks.size();
  if (!row.of_node || !knows_node) return why;
  const NodeRank node = plan->ranks[f.outcome.first->value].node;
  if (!failed_on_other_nodes(f, node))
    why += "; only ranks on " + plain_line(plan->nodes[node.value].name) + " failed in this way";
  return why;
}

// Of the rows that apply, the first with a `why` explains the failure, and the first with advice
// gives the advice.
constexpr std::array<KnownCause, 13> kCauses{{
    {"debugger-without-terminal", "bdb.BdbQuit", nullptr, nullptr,
     [](const Failure& f) { return advice_for_stdin(f, "breakpoint()"); }},
    {"input-without-terminal", "EOFError: EOF when reading a line", nullptr, nullptr,
     [](const Failure& f) { return advice_for_stdin(f, "input()"); }},
    {"out-of-memory-killed", "",
     [](const Failure& f) { return f.end != nullptr && !f.end->status.out_of_memory.empty(); },
     [](const Failure& f) {
       const std::string& record = f.end->status.out_of_memory;
       return "the kernel killed the rank: out of memory (" +
              plain_line(record.substr(0, record.find('\n'))) + ')';
     },
     [](const Failure&) {
       return std::string(
           "a smaller batch, fewer data loaders or ranks per node; or a higher memory limit "
           "(sbatch --mem)");
     }},
    {"gpu-fault", "",
     [](const Failure& f) { return f.end != nullptr && !f.end->status.gpu_fault.empty(); },
     [](const Failure& f) {
       return "the GPU driver of its node reports " + plain_line(f.end->status.gpu_fault);
     },
     [](const Failure&) {
       return std::string("--exclude NODE, until the node has been rebooted and checked");
     }},
    {"killed", "", was_killed, why_killed, nullptr},
    {"peer-lost", "", has_lost_peer, why_peer_lost,
     [](const Failure& f) {
       return std::string(f.outcome.left_early.empty()
                              ? ""
                              : "the same number of steps on every rank: each must take part in "
                                "every collective");
     }},
    {"mpi-not-initialized", "",
     [](const Failure& f) { return f.ended_in_mpi(MpiEnd::never_connected); }, why_never_connected,
     what_else_for_mpi},
    {"mpi-other-world", "", [](const Failure& f) { return f.ended_in_mpi(MpiEnd::other_world); },
     why_other_world,
     [](const Failure&) {
       return std::string(
           "the program without the commands before it; mpi.init: optional if a world of its own "
           "is intended");
     }},
    {"", "ModuleNotFoundError", nullptr, why_no_module, nullptr},
    {"", "", [](const Failure& f) { return row_of(f) != nullptr; }, why_by_table,
     [](const Failure& f) { return std::string(row_of(f)->advice); }},
    // If what it last printed says nothing better.
    {"killed", "", was_killed, nullptr, who_killed},
    {"metric-not-a-number", "",
     [](const Failure& f) { return f.end != nullptr && !nan_metrics(f.in.metrics).empty(); },
     [](const Failure& f) { return nan_metrics(f.in.metrics).front(); },
     [](const Failure&) {
       return std::string(
           "torch.autograd.set_detect_anomaly(True) shows the operation; a lower learning rate");
     }},
    // If no other row has advice.
    {"peer-lost", "",
     [](const Failure& f) {
       return has_lost_peer(f) && f.in.plan != nullptr && f.in.plan->nodes.size() > 1;
     },
     nullptr,
     [](const Failure&) {
       return std::string("dlaunch check tests the network between the nodes");
     }},
}};

bool applies(const KnownCause& row, const Failure& failure) {
  const bool fits = failure.in.evidence.exception.value_or("").starts_with(row.exception);
  return fits && (row.applies == nullptr || row.applies(failure));
}

Failure failure_of(const SummaryInput& in) {
  return {in, in.report.outcome, in.report.end_of_first()};
}

/// Of the rows that apply, the text of the first that has one.
std::string first_text(const SummaryInput& in, std::string (*KnownCause::*text)(const Failure&)) {
  const Failure failure = failure_of(in);
  for (const KnownCause& row : kCauses) {
    if (row.*text == nullptr || !applies(row, failure)) continue;
    if (std::string found = (row.*text)(failure); !found.empty()) return found;
  }
  return "";
}

// How many last lines to search if a program ended without an exception; Open MPI's text has 15.
constexpr std::size_t kLines = 20;

constexpr std::string_view kClosed = "another rank closed its connection";
constexpr std::string_view kNetwork = "another rank is gone, or the network failed";
constexpr std::string_view kStore = "the store of rank 0 is gone";
constexpr std::string_view kWaited = "another rank did not arrive in time";
constexpr std::string_view kCoordinator = "another process of the job is gone";

// tests/unit/report/known_causes_test.cc has a real message for each row.
constexpr std::array<PeerLoss, 28> kPeerLosses{{
    {"Connection closed by peer", kClosed},         // gloo
    {"Connection reset by peer", kClosed},          // gloo, PyTorch's store, Hydra, Python
    {"Broken pipe", kClosed},                       // the same
    {"Connection closed by remote peer", kClosed},  // NCCL
    {"Connection reset by remote peer", kClosed},   // UCX
    {"remote process exited", kNetwork},            // NCCL in PyTorch
    {"ncclRemoteError", kNetwork},
    {"ncclSystemError", kNetwork},
    {"unhandled system error", kNetwork},  // ncclSystemError in PyTorch's words
    {"ecv, got 0 bytes", kStore},          // "failed to recv, ...", "Failed to recv, ..."
    {"The client socket has failed to connect", kStore},
    {"The client socket has timed out", kStore},
    {"clients joined", kWaited},                                // PyTorch's store
    {"wait timeout after", kWaited},                            // the same
    {"Timed out waiting", kWaited},                             // gloo
    {"Watchdog caught collective operation timeout", kWaited},  // PyTorch with NCCL
    {"JAX distributed service detected fatal errors", kCoordinator},
    {"coordination service", kCoordinator},  // JAX, TensorFlow
    {"stopped sending heartbeats", kCoordinator},
    {"Barrier timed out", kWaited},
    {"UnavailableError", kCoordinator},                    // TensorFlow
    {"UNAVAILABLE: ", kCoordinator},                       // gRPC
    {"failed to connect to all addresses", kCoordinator},  // the same
    {"Collective ops is aborted by", kCoordinator},        // TensorFlow
    {"Horovod has been shut down", kCoordinator},
    {"MPI communication peer process has unexpectedly disconnected", kClosed},  // Open MPI
    {"Communication error with rank", kClosed},                                 // MPICH
    {"MPI_ERR_PROC_FAILED", kCoordinator},
}};

const PeerLoss* row_for(std::string_view text) {
  const auto* found = std::find_if(
      kPeerLosses.begin(), kPeerLosses.end(),
      [&](const PeerLoss& row) { return text.find(row.pattern) != std::string_view::npos; });
  return found == kPeerLosses.end() ? nullptr : found;
}

}  // namespace

std::string why_failed(const SummaryInput& input) {
  return input.report.end_of_first() == nullptr ? "" : first_text(input, &KnownCause::why);
}

std::string advice_for(const SummaryInput& input) {
  return first_text(input, &KnownCause::advice);
}

std::string name_of_failure(const SummaryInput& input) {
  const Failure failure = failure_of(input);
  if (failure.end == nullptr) return "";
  const auto* row = std::find_if(kCauses.begin(), kCauses.end(),
                                 [&](const KnownCause& one) { return applies(one, failure); });
  if (row == kCauses.end()) return "";
  if (!row->name.empty()) return std::string(row->name);
  const KnownFailure* known = row_of(failure);
  return known == nullptr ? "" : std::string(known->name);
}

std::span<const PeerLoss> peer_losses() {
  return kPeerLosses;
}

const PeerLoss* find_peer_loss(const Evidence& evidence) {
  const KnownFailure* cause = find_known_failure(evidence, nullptr);
  if (cause != nullptr && cause->beats_peer_loss) return nullptr;
  if (evidence.exception) return row_for(*evidence.exception);
  const auto& lines = evidence.last_lines;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) {
    if (const PeerLoss* row = row_for(lines[i])) return row;
  }
  return nullptr;
}

std::vector<Rank> suspects(const SummaryInput& input) {
  const RunReport& report = input.report;
  const Outcome& outcome = report.outcome;
  const auto lost_a_peer = [&](Rank rank) {
    const auto& lost = outcome.lost_peer;
    return std::find(lost.begin(), lost.end(), rank) != lost.end();
  };
  if (!outcome.first || !outcome.left_early.empty() || !lost_a_peer(*outcome.first) ||
      find_peer_loss(input.evidence) == nullptr)
    return {};
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < report.ranks.size(); ++i) {
    const RankEnd::How how = report.ranks[i].how;
    const bool ended = how != RankEnd::How::not_started && how != RankEnd::How::lost;
    if (ended && !lost_a_peer(Rank(i))) ranks.emplace_back(i);
  }
  return ranks;
}

}  // namespace dlaunch
