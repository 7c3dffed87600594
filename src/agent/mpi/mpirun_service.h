// Another launcher, mpirun, that starts the ranks of an attempt: on every node the place where they
// come (join_point.h), on node 0 mpirun itself. docs/architecture.md, "mpirun".
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/mpi/join_point.h"
#include "agent/mpi/meeting_relay.h"
#include "agent/mpi/mpirun_process.h"
#include "agent/progress.h"
#include "os/channel.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class MpirunService {
 public:
  MpirunService(EventLoop& loop, Channel& channel, Progress& progress);
  ~MpirunService();

  /// Before begin(). A rank has come, and what stood for it has ended: see JoinPoint. And it has
  /// ended some seconds ago, though rank and mpirun run: the rank is given up.
  using Joined = std::function<std::string(const Joining&, UniqueFd pmi)>;
  void set_callbacks(Joined on_joined, std::function<void(Rank)> on_left,
                     std::function<void(Rank)> on_given_up);

  /// Descriptors of ours that each rank needs.
  [[nodiscard]] static std::size_t descriptors_per_rank(bool are_mpi) {
    return JoinPoint::kDescriptors + (are_mpi ? MeetingRelay::kDescriptors : 0);
  }

  /// For each attempt: makes the place for its ranks. `are_mpi`: they are to meet mpirun, in a
  /// world of `world` ranks.
  [[nodiscard]] tl::expected<void, StartFailure> begin(Attempt attempt, const std::string& folder,
                                                       bool are_mpi, std::uint32_t world);
  /// Before a rank starts that is to meet mpirun: see MeetingRelay.
  [[nodiscard]] UniqueFd pass(Rank rank, UniqueFd pmi, Environment& variables);
  /// On node 0. What goes wrong is told as the output and the end of mpirun.
  void start(const MpirunProcess::Request& request);
  [[nodiscard]] bool running() const { return process_ && !ended_; }
  /// Reaps mpirun if it has ended, and tells the launcher. True: it has, just now.
  bool reap(WallTime now);
  /// Somebody who reaps any child has reaped this one. True: it was mpirun.
  bool was_reaped(pid_t pid, const ExitStatus& status, WallTime at);
  void terminate();
  /// Everything is being killed: its end says nothing.
  void expect_end();

  /// Takes what is known of what stands for ranks: on_left is called from inside.
  void catch_up() { point_.catch_up(); }
  /// Of a rank that has ended by itself: what its exit status does not tell.
  void judge(Rank rank, ExitStatus& status);
  /// A rank has ended: what stands for it may end, if it did so well. Of failures mpirun is not
  /// told: it would kill the other ranks at once, and the supervisor stops them with the grace that
  /// the job gives them.
  void rank_ended(Rank rank, const ExitStatus& status);
  /// Nothing of the attempt is left on this node: no rank may come any more. The folder stays until
  /// mpirun's daemons have ended, which may be about to execute what it names.
  void end();
  /// mpirun's daemons on this node end with mpirun, which has ended; what has not within `grace` is
  /// killed. Then the place is taken away. Blocks.
  void end_daemons(std::chrono::milliseconds grace);

 private:
  void left(Rank rank);
  void tell_end(const ExitStatus& status, WallTime at);
  void remember_folder(const std::string& folder);

  EventLoop& loop_;
  Channel& channel_;
  Progress& progress_;
  Attempt attempt_;
  Joined on_joined_;
  std::function<void(Rank)> on_left_;
  std::function<void(Rank)> on_given_up_;
  JoinPoint point_;
  MeetingRelay relay_;
  bool are_mpi_ = false;
  std::uint32_t world_ = 0;
  std::unique_ptr<MpirunProcess> process_;
  bool ended_ = false;
  std::map<Rank, std::unique_ptr<Timer>> left_;
};

}  // namespace dlaunch
