// Starts, signals, reaps and ends the ranks of one attempt on this node.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "agent/containers/container_service.h"
#include "agent/facts.h"
#include "agent/mpi/mpi_service.h"
#include "agent/mpi/mpirun_service.h"
#include "agent/output/output_pump.h"
#include "agent/ranks/released_ports.h"
#include "agent/ranks/stdin_pump.h"
#include "os/channel.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/enclosure.h"
#include "os/event_loop.h"
#include "os/oom_watch.h"
#include "os/spawn.h"

namespace dlaunch {

struct RankBatch;    // running_rank.h
struct RunningRank;  // likewise

/// Lives on the agent's one thread. The life of an attempt: start() one or more times; every rank
/// ends by itself, by stop() or by kill(); then everything left of it is killed and AttemptEnded is
/// sent.
class RankService {
 public:
  RankService(EventLoop& loop, Channel& channel, OutputPump& pump, StdinPump& stdin_pump,
              FactsService& facts, MpiService& mpi, MpirunService& mpirun,
              ContainerService& containers, Enclosure& enclosure);
  ~RankService();

  /// SIGCHLD must be blocked.
  [[nodiscard]] Status watch_children();
  /// What can be done for an attempt before its ranks are known. start() does it if nobody else
  /// has.
  void prepare();
  void start(wire::StartRanks request);
  /// Where mpirun starts the ranks of this attempt.
  void start_mpirun(const wire::StartMpirun& request);
  /// Without a list of ranks: all, and none is started any more.
  void stop(const wire::StopRanks& request);
  void kill(const wire::KillRanks& request);
  void pass(const wire::SignalRanks& request);

 private:
  struct Pending {
    std::shared_ptr<RankBatch> batch;
    std::size_t index = 0;
  };

  /// What another launcher has given a rank that the agent starts in its place.
  struct Place {
    Environment variables;
    std::vector<int> cpus;
    UniqueFd pmi;  // invalid: it has no socket for PMI-1
  };

  void await(const std::shared_ptr<RankBatch>& batch);
  [[nodiscard]] std::string start_joined(const Joining& joining, UniqueFd pmi);
  void mpirun_left(Rank rank);
  void mpirun_gave_up(Rank rank);
  void begin_attempt(const wire::StartRanks& request);
  void lock_cores(wire::StartRanks& request);
  [[nodiscard]] bool descriptors_suffice(const wire::StartRanks& request);
  void start_some();
  [[nodiscard]] tl::expected<pid_t, StartFailure> start_one(
      const std::shared_ptr<RankBatch>& shared, const wire::StartRank& rank,
      Place* place = nullptr);
  [[nodiscard]] tl::expected<UniqueFd, StartFailure> way_to_others(const RankBatch& batch,
                                                                   const wire::StartRank& rank,
                                                                   Place* place, Environment& own);
  void release_ports(const wire::StartRank& rank);
  RunningRank& watch_over(const Spawned& spawned, const std::shared_ptr<RankBatch>& batch,
                          const wire::StartRank& rank);
  [[nodiscard]] tl::expected<pid_t, StartFailure> start_contained(
      const std::shared_ptr<RankBatch>& shared, const wire::StartRank& rank);
  [[nodiscard]] bool may_start(const Pending& next) const;
  [[nodiscard]] RunningRank* find_contained(Rank rank);
  void set_container_callbacks();
  void tell_while_it_comes(RunningRank& rank, const std::string& runtime,
                           std::chrono::milliseconds after);
  void contained_started(RunningRank& rank, pid_t program);
  void contained_failed(RunningRank& rank, StartFailure failure);
  void contained_left(RunningRank& rank);
  void runtime_ended(RunningRank& rank, const ExitStatus& status, WallTime now);
  void count_if_over(RunningRank& rank);
  void tell_end(RunningRank& rank, ExitStatus status, WallTime now);
  void finish_attempt();
  void not_started(const wire::StartRank& rank, StartFailure failure);
  void start_no_more();
  void start_none_of(const std::vector<Rank>& ranks);
  void wait_for_children();
  void reap();
  void on_ended(const Reaped& reaped, WallTime now);
  void tell_if_port_is_taken();
  void signal_rank(RunningRank& rank, int signal);
  void watch_companion(RunningRank& rank, pid_t companion);
  void end_aborted(Rank rank, std::chrono::milliseconds grace);
  void rank_is_over();
  void end_attempt_if_over();
  void kill_round();
  void tell_stuck(const std::vector<pid_t>& killed);
  void attempt_is_empty();

  EventLoop& loop_;
  Channel& channel_;
  OutputPump& pump_;
  StdinPump& stdin_;
  FactsService& facts_;
  MpiService& mpi_;
  MpirunService& mpirun_;
  ContainerService& containers_;
  Enclosure& enclosure_;
  std::optional<OomWatch> oom_;
  bool prepared_ = false;  // for an attempt that has not begun
  std::unique_ptr<WatchedFd> child_signals_;
  Timer kill_timer_;
  OpenFileLimit open_files_;
  UniqueFd null_;

  Attempt attempt_;
  bool begun_ = false;                // attempt_ has a meaning
  bool active_ = false;               // between the first StartRanks and AttemptEnded
  bool closed_ = false;               // no more ranks of attempt_ are started
  bool all_known_ = false;            // the last StartRanks has come
  bool ending_ = false;               // every rank is over; what is left is being killed
  bool counted_descriptors_ = false;  // descriptors_left_ is known
  std::size_t descriptors_left_ = 0;  // that no rank of attempt_ is known to need
  std::size_t alive_ = 0;             // ranks that are not over
  std::deque<Pending> pending_;
  /// Containers, by their number, that no rank has come into yet: the first one tries alone, so
  /// that an image is fetched once, and what is wrong is said once.
  std::map<std::uint32_t, std::optional<Rank>> untried_;
  bool was_contained_ = false;              // ranks of this attempt run in containers
  std::map<Rank, Pending> awaited_;         // that mpirun has still to start
  std::shared_ptr<RankBatch> joint_batch_;  // of an attempt whose ranks mpirun starts
  bool mpirun_is_to_end_ = false;           // when no rank of this node is left
  std::unordered_map<pid_t, std::unique_ptr<RunningRank>> running_;  // by leader
  std::set<pid_t> leftovers_;
  std::set<pid_t> killed_before_;  // in the last round
  std::chrono::milliseconds kill_pause_{5};
  bool told_stuck_ = false;
  ReleasedPorts released_;
  bool looked_for_taken_ = false;  // in this pass of reap()
};

}  // namespace dlaunch
