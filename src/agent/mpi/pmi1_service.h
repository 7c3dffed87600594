// Serves the ranks of one node by PMI-1 (pmi/conversation.h): a socket for each, and barriers over
// all nodes. For MPICH and those that start like it; ranks of Open MPI leave it alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "agent/mpi/wire_up.h"
#include "model/result.h"
#include "os/channel.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "pmi/conversation.h"
#include "pmi/key_space.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class Pmi1Service {
 public:
  struct Callbacks {
    std::function<void(Rank)> on_connected;
    /// It is to be ended: it has called MPI_Abort, or begins a world that cannot come about.
    std::function<void(Rank)> on_abort;
    /// What a process was started with, as /proc/PID/environ has it; empty: it cannot be known.
    std::function<std::string(pid_t)> environment_of;
  };
  Pmi1Service(EventLoop& loop, Channel& channel, Callbacks callbacks);

  /// For the ranks of `node`; closes what an earlier attempt had.
  void prepare(const wire::PreparePmix& job, NodeIndex node);
  [[nodiscard]] bool offered() const { return offered_; }
  /// The rank's end of a new socket, which it gets as kPmiDescriptor. Errors: errno.
  [[nodiscard]] tl::expected<UniqueFd, int> open(Rank rank);
  void on(const wire::PmixFence& done);
  /// The rank has ended well: it comes to no barrier any more.
  void ended(Rank rank);

  /// What it has said so far; all that it has written is read first.
  [[nodiscard]] WireUp seen(Rank rank);
  /// Who speaks PMI-1.
  [[nodiscard]] std::vector<Rank> connected() const;
  /// The barriers come to nothing, here and on the other nodes: who waits in one, or comes to one
  /// later, gets an error from its MPI library. `status`: of wire/message.h.
  void fail(std::int32_t status, bool tell_others = true);

 private:
  struct RankState {
    std::unique_ptr<WatchedFd> socket;  // none: it has been closed
    pmi::Conversation said;
    bool noted = false;                       // that it has asked for what is not possible
    bool hopeless = false;                    // it waits in MPI_Init for ranks that there are not
    std::optional<std::uint32_t> declared{};  // pmi::declared_size() of its programs: the best one
  };
  void watch(std::uint32_t rank);
  void read_turn(std::uint32_t rank);
  [[nodiscard]] bool read_once(RankState& state, std::uint32_t rank);
  void hear(std::uint32_t rank, RankState& state, pid_t sender);
  void take(std::uint32_t rank, RankState& state, const pmi::Conversation::Said& said);
  [[nodiscard]] bool may_begin(pid_t program, std::uint32_t rank, RankState& state);
  void note(std::uint32_t rank, const std::string& what);
  [[nodiscard]] std::optional<std::uint32_t> other_world(const RankState& state) const;
  static void tell(RankState& state, std::string_view text);
  void at_barrier();
  void send(wire::PmixFence fence);
  void barrier_out();
  bool close_waiting();

  EventLoop& loop_;
  Channel& channel_;
  const Callbacks callbacks_;
  bool offered_ = false;
  Attempt attempt_;
  std::size_t nodes_ = 0;  // that have ranks
  std::size_t here_ = 0;   // ranks of this node
  pmi::KeySpace space_;
  std::map<std::uint32_t, RankState> ranks_;
  std::uint64_t barrier_ = 0;  // the number of the next one
  bool failed_ = false;        // there will be no next one
  bool noted_world_ = false;   // that a rank of this node begins another world
};

}  // namespace dlaunch
