// Starts, signals, reaps and ends the ranks of one attempt on this node.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <unordered_map>

#include "agent/facts.h"
#include "agent/output_pump.h"
#include "agent/stdin_pump.h"
#include "os/channel.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread. The life of an attempt: start() one or more times; every rank
/// ends by itself, by stop() or by kill(); then everything left of it is killed and AttemptEnded is
/// sent.
class RankService {
 public:
  RankService(EventLoop& loop, Channel& channel, OutputPump& pump, StdinPump& stdin_pump,
              FactsService& facts);
  ~RankService();

  /// SIGCHLD must be blocked.
  [[nodiscard]] Status watch_children();
  void start(wire::StartRanks request);
  void stop(Attempt attempt, int signal);
  void kill(Attempt attempt);

 private:
  struct Batch;
  struct RunningRank;
  struct Pending {
    std::shared_ptr<Batch> batch;
    std::size_t index = 0;
  };

  void begin_attempt(const wire::StartRanks& request);
  void lock_cores(wire::StartRanks& request);
  void start_some();
  [[nodiscard]] tl::expected<pid_t, StartFailure> start_one(const std::shared_ptr<Batch>& shared,
                                                            const wire::StartRank& rank);
  void not_started(const wire::StartRank& rank, StartFailure failure);
  void start_no_more();
  void wait_for_children();
  void reap();
  void on_ended(const Reaped& reaped, WallTime now);
  void signal_rank(RunningRank& rank, int signal);
  void watch_companion(RunningRank& rank, pid_t companion);
  void rank_is_over();
  void end_attempt_if_over();
  void kill_round();
  void attempt_is_empty();

  EventLoop& loop_;
  Channel& channel_;
  OutputPump& pump_;
  StdinPump& stdin_;
  FactsService& facts_;
  std::unique_ptr<WatchedFd> child_signals_;
  Timer kill_timer_;
  OpenFileLimit open_files_;
  UniqueFd null_;

  Attempt attempt_;
  bool begun_ = false;      // attempt_ has a meaning
  bool active_ = false;     // between the first StartRanks and AttemptEnded
  bool closed_ = false;     // no more ranks of attempt_ are started
  bool all_known_ = false;  // the last StartRanks has come
  bool ending_ = false;     // every rank is over; what is left is being killed
  std::size_t alive_ = 0;   // ranks that are not over
  std::deque<Pending> pending_;
  std::unordered_map<pid_t, std::unique_ptr<RunningRank>> running_;  // by leader
  std::set<pid_t> leftovers_;
};

}  // namespace dlaunch
