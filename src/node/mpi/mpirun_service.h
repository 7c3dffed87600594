// Serves ranks that another launcher, mpirun, starts: runs their listener on every node
// (join_listener.h), and mpirun itself on node 0. docs/internals/architecture.md, "mpirun".
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "node/external_process.h"
#include "node/mpi/join_listener.h"
#include "node/mpi/rendezvous_relay.h"
#include "node/progress.h"
#include "os/channel.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class MpirunService {
 public:
  MpirunService(EventLoop& loop, AgentChannel& channel, Progress& progress);
  ~MpirunService();

  struct Callbacks {
    JoinListener::Callbacks joining;
    /// The rank's proxy ended some seconds ago, but rank and mpirun still run.
    std::function<void(Rank)> on_given_up;
  };
  /// Call before begin().
  void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }

  /// Descriptors that each rank costs the agent.
  [[nodiscard]] static std::size_t descriptors_per_rank(bool are_mpi) {
    return JoinListener::kDescriptors + (are_mpi ? RendezvousRelay::kDescriptors : 0);
  }

  /// Call for each attempt: starts to listen for its ranks. `are_mpi`: the ranks are expected to
  /// connect to mpirun, in a world of `world` ranks.
  [[nodiscard]] tl::expected<void, StartFailure> begin(Attempt attempt, const std::string& folder,
                                                       bool are_mpi, std::uint32_t world);
  /// Call before a rank starts: see RendezvousRelay.
  [[nodiscard]] UniqueFd pass(Rank rank, UniqueFd pmi, Environment& variables);
  /// Starts mpirun, on node 0. Reports failures as mpirun's output and end.
  void start(const ExternalProcess::Request& request);
  [[nodiscard]] bool running() const { return process_ && !ended_; }
  /// Reaps mpirun if it has ended, and tells the launcher. True: it has just ended.
  bool reap(WallTime now);
  /// Call for every child that was reaped. True: it was mpirun.
  bool was_reaped(pid_t pid, const ExitStatus& status, WallTime at);
  void terminate();
  /// Call before everything is killed: mpirun's end is then not a failure.
  void expect_end();

  /// Calls on_left for proxies whose end has not been noticed yet.
  void catch_up() { listener_.catch_up(); }
  /// Call for a rank that ended by itself: adds to `status` what the exit status does not show.
  void judge(Rank rank, ExitStatus& status);
  /// Lets the proxy of a rank end if the rank succeeded. mpirun does not learn of failures: it
  /// would kill the other ranks at once, while the supervisor stops them with the job's grace.
  void rank_ended(Rank rank, const ExitStatus& status);
  /// Ends the attempt on this node: no rank may join any more. The folder stays until mpirun's
  /// daemons have ended, because they may be about to execute what it contains.
  void end();
  /// Waits for mpirun's daemons on this node, which end once mpirun has ended. Kills those that are
  /// left after `grace`, then removes the folder. Blocks.
  void end_daemons(std::chrono::milliseconds grace);

 private:
  void left(Rank rank);
  void tell_end(const ExitStatus& status, WallTime at);
  void remember_folder(const std::string& folder);

  EventLoop& loop_;
  AgentChannel& channel_;
  Progress& progress_;
  Attempt attempt_;
  Callbacks callbacks_;
  JoinListener listener_;
  RendezvousRelay relay_;
  bool are_mpi_ = false;
  std::uint32_t world_ = 0;
  std::unique_ptr<ExternalProcess> process_;
  bool ended_ = false;
  std::map<Rank, std::unique_ptr<Timer>> left_;
};

}  // namespace dlaunch
