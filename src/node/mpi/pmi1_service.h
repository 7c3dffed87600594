// Serves the ranks of one node over PMI-1 (node/pmi/conversation.h): a socket for each rank, and
// barriers over all nodes. For MPICH and its relatives; ranks of Open MPI do not use it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "node/mpi/wire_up.h"
#include "node/pmi/conversation.h"
#include "node/pmi/key_space.h"
#include "os/channel.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class Pmi1Service {
 public:
  struct Callbacks {
    std::function<void(Rank)> on_connected;
    /// The rank must be ended: it has called MPI_Abort, or starts a world that can never be
    /// complete.
    std::function<void(Rank)> on_abort;
    /// The text of /proc/PID/environ; empty if unknown.
    std::function<std::string(pid_t)> environment_of;
  };
  Pmi1Service(EventLoop& loop, AgentChannel& channel, Callbacks callbacks);

  /// Prepares for the ranks of this node, and closes the sockets of an earlier attempt.
  void prepare(const wire::PreparePmix& job);
  [[nodiscard]] bool offered() const { return offered_; }
  /// Opens a socket for the rank; returns the end that must become its kPmiDescriptor. Errors:
  /// errno.
  [[nodiscard]] tl::expected<UniqueFd, int> open(Rank rank);
  void on(const wire::PmixFence& done);
  /// Call when the rank has exited with 0: barriers can no longer complete.
  void ended(Rank rank);

  /// What the rank has done over PMI-1. First reads all that it has written.
  [[nodiscard]] WireUp seen(Rank rank);
  /// Ranks that speak PMI-1.
  [[nodiscard]] std::vector<Rank> connected() const;
  /// Fails the barriers, on this node and on the others: a rank that waits in one, or enters one
  /// later, gets an error from its MPI library. `status`: see wire/message.h.
  void fail(std::int32_t status, bool tell_others = true);

 private:
  struct RankState {
    std::unique_ptr<WatchedFd> socket;  // null: closed
    pmi::Conversation said;
    bool noted = false;     // the user was told that it asked for something unsupported
    bool hopeless = false;  // it waits in MPI_Init for ranks that do not exist
    std::optional<std::uint32_t> declared{};  // its last pmi::declared_size(), until that is right
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
  AgentChannel& channel_;
  const Callbacks callbacks_;
  bool offered_ = false;
  Attempt attempt_;
  std::size_t nodes_ = 0;  // nodes that have ranks
  std::size_t here_ = 0;   // ranks of this node
  pmi::KeySpace space_;
  std::map<std::uint32_t, RankState> ranks_;
  std::uint64_t barrier_ = 0;  // number of the next barrier
  bool failed_ = false;        // all further barriers fail
  bool noted_world_ = false;   // the user was told that a rank starts another world
};

}  // namespace dlaunch
