#include "node/mpi/pmi1_service.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "node/pmi/process_mapping.h"
#include "node/pmi/world_size.h"
#include "os/packet.h"

namespace dlaunch {

namespace {

using Kind = pmi::Conversation::Kind;

constexpr std::size_t kRead = 4096;
// Endless output of a rank must not keep the agent from its heartbeats.
constexpr int kReadsPerTurn = 16;

std::string why_over(std::int32_t status) {
  switch (status) {
    case wire::kPmi1RankGone:
      return "a rank ended while others waited for it in MPI_Init or in a PMI-1 barrier";
    case wire::kPmi1Mixed:
      return "some ranks called MPI_Init through PMI-1 (MPICH, Intel MPI), others through PMIx "
             "(Open MPI): all ranks of a job must use the same MPI library";
    default:
      return "the ranks' data is too large for a PMI-1 barrier";
  }
}

}  // namespace

Pmi1Service::Pmi1Service(EventLoop& loop, AgentChannel& channel, Callbacks callbacks)
    : loop_(loop), channel_(channel), callbacks_(std::move(callbacks)) {}

void Pmi1Service::prepare(const wire::PreparePmix& job) {
  ranks_.clear();
  attempt_ = job.attempt;
  barrier_ = 0;
  failed_ = false;
  noted_world_ = false;
  offered_ = job.pmi1 && job.own < job.nodes.size();
  if (!offered_) return;
  pmi::Job known{job.name_space, 0, {}, wire::kMostPmixBytes};
  std::vector<std::vector<RankSpan>> nodes;
  nodes_ = 0;
  for (const wire::PreparePmix::Node& one : job.nodes) {
    nodes.push_back(one.ranks);
    known.size += static_cast<std::uint32_t>(count_of(one.ranks));
    nodes_ += one.ranks.empty() ? 0 : 1;
  }
  known.mapping = pmi::process_mapping(nodes);
  here_ = static_cast<std::size_t>(count_of(nodes[job.own]));
  space_ = pmi::KeySpace(std::move(known));
}

tl::expected<UniqueFd, int> Pmi1Service::open(Rank rank) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return tl::unexpected(errno);
  UniqueFd theirs(ends[1]);
  RankState& state = ranks_[rank.value];
  state = RankState();
  ask_for_senders(ends[0]);
  state.socket = std::make_unique<WatchedFd>(loop_, UniqueFd(ends[0]));
  watch(rank.value);
  return theirs;
}

// ---- one rank

void Pmi1Service::watch(std::uint32_t rank) {
  ranks_[rank].socket->on_readable([this, rank] { read_turn(rank); });
}

void Pmi1Service::read_turn(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  for (int i = 0; i < kReadsPerTurn && state.socket; ++i) {
    if (!read_once(state, rank)) break;
  }
  if (state.socket) watch(rank);
}

/// False: nothing more can be read now.
bool Pmi1Service::read_once(RankState& state, std::uint32_t rank) {
  char bytes[kRead];
  pid_t sender = 0;
  const ssize_t n = receive_with_sender(state.socket->get(), bytes, sizeof bytes, sender);
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) {
    state.socket.reset();
    return false;
  }
  state.said.feed({bytes, static_cast<std::size_t>(n)});
  hear(rank, state, sender);
  return true;
}

void Pmi1Service::hear(std::uint32_t rank, RankState& state, pid_t sender) {
  while (const auto said = state.said.next(space_)) {
    // The rank waits for the answer, so its process still exists.
    if (said->kind == Kind::connected && !may_begin(sender, rank, state))
      return callbacks_.on_abort(Rank(rank));
    take(rank, state, *said);
  }
}

/// Whether a rank may call MPI_Init. False: it would wait for other ranks forever, or take them for
/// different ranks. MPICH takes the size of its world from the environment; if PMI_SIZE was changed
/// there, the user is told now and not at the end of the run. A world of one may be intended: a
/// script may run something alone first.
bool Pmi1Service::may_begin(pid_t program, std::uint32_t rank, RankState& state) {
  const std::uint32_t planned = space_.job().size;
  if (program <= 0 || state.declared == planned) return true;
  const auto declared = pmi::declared_size(callbacks_.environment_of(program));
  if (!declared) return true;
  state.declared = declared;
  state.hopeless = *declared > 1 && *declared != planned;
  if (*declared != 1 || planned == 1 || std::exchange(noted_world_, true)) return !state.hopeless;
  note(rank,
       "starts an MPI world of 1, but the job has " + std::to_string(planned) +
           " ranks: PMI_SIZE was changed or removed on the way to the program. The rank counts "
           "as failed unless it joins the others before it ends");
  return true;
}

void Pmi1Service::take(std::uint32_t rank, RankState& state, const pmi::Conversation::Said& said) {
  tell(state, said.text);
  switch (said.kind) {
    case Kind::answered:
    case Kind::finalized:
      return;
    case Kind::connected:
      return callbacks_.on_connected(Rank(rank));
    case Kind::at_barrier:
      return at_barrier();
    case Kind::aborted:
      return callbacks_.on_abort(Rank(rank));
    case Kind::refused:
      if (std::exchange(state.noted, true)) return;
      return note(rank, "called " + said.what +
                            ", which is not possible here: the call fails. Programs that start "
                            "others need mpirun");
    case Kind::nonsense:
      state.socket.reset();
      return note(rank, "sends malformed PMI-1 messages, which are ignored from now on: " +
                            said.what + "; dlaunch serves PMI-1 and PMIx");
  }
}

void Pmi1Service::note(std::uint32_t rank, const std::string& what) {
  channel_.send(wire::Notice{"rank " + std::to_string(rank) + ' ' + what});
}

/// A rank waits for the answer to each request, so its socket has room for it; else the rank is
/// broken.
void Pmi1Service::tell(RankState& state, std::string_view text) {
  if (text.empty() || !state.socket) return;
  const ssize_t n =
      ::send(state.socket->get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n != static_cast<ssize_t>(text.size())) state.socket.reset();
}

std::optional<std::uint32_t> Pmi1Service::other_world(const RankState& state) const {
  if (state.hopeless) return state.declared;
  return pmi::other_world(state.said.asked_of_others(), state.declared, space_.job().size);
}

WireUp Pmi1Service::seen(Rank rank) {
  const auto found = ranks_.find(rank.value);
  if (!offered_ || found == ranks_.end()) return {};
  RankState& state = found->second;
  // The rank waits for each answer, so little is unread.
  for (int i = 0; i < kReadsPerTurn && state.socket; ++i) {
    if (!read_once(state, rank.value)) break;
  }
  return {true,
          state.said.connected(),
          state.said.finalized(),
          state.said.aborted(),
          other_world(state),
          state.hopeless};
}

std::vector<Rank> Pmi1Service::connected() const {
  std::vector<Rank> found;
  for (const auto& [rank, one] : ranks_) {
    if (one.said.connected()) found.emplace_back(rank);
  }
  return found;
}

// ---- barriers, in the same order on every node, so a number identifies each

void Pmi1Service::at_barrier() {
  if (failed_) {
    (void)close_waiting();
    return;
  }
  const auto waiting = static_cast<std::size_t>(std::count_if(
      ranks_.begin(), ranks_.end(), [](const auto& one) { return one.second.said.at_barrier(); }));
  if (waiting < here_) return;
  std::string puts = space_.take_puts();
  if (nodes_ == 1) return barrier_out();  // this node has all puts
  send({attempt_, barrier_, 0, {}, std::move(puts)});
}

void Pmi1Service::send(wire::PmixFence fence) {
  fence.pmi1 = true;
  channel_.send(fence);
}

void Pmi1Service::on(const wire::PmixFence& done) {
  if (!offered_ || done.attempt != attempt_ || failed_) return;
  if (done.status != 0) return fail(done.status, false);
  if (done.counter != barrier_) return;
  if (!space_.add_puts(done.bytes)) return fail(wire::kPmi1TooMuch);
  barrier_out();
}

void Pmi1Service::barrier_out() {
  ++barrier_;
  for (auto& [rank, state] : ranks_) tell(state, state.said.barrier_out());
}

/// In a job that succeeds, no rank waits in a barrier when another has ended.
void Pmi1Service::ended(Rank rank) {
  const auto found = ranks_.find(rank.value);
  if (offered_ && found != ranks_.end() && found->second.said.connected())
    fail(wire::kPmi1RankGone);
}

void Pmi1Service::fail(std::int32_t status, bool tell_others) {
  if (std::exchange(failed_, true)) return;
  if (tell_others && nodes_ > 1) send({attempt_, barrier_, status, {}, {}});
  const bool cut_off = close_waiting();
  if (cut_off || status != wire::kPmi1RankGone) channel_.send(wire::Notice{why_over(status)});
}

/// Closes the sockets of ranks that wait in a barrier, so their libraries report an error. True:
/// there were such ranks.
bool Pmi1Service::close_waiting() {
  bool any = false;
  for (auto& [rank, state] : ranks_) {
    if (!state.said.at_barrier() || !state.socket) continue;
    state.socket.reset();
    any = true;
  }
  return any;
}

}  // namespace dlaunch
