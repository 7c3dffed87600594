// Starts, signals, reaps and ends the ranks of one attempt on this node.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "node/checkpoint/checkpoint_watch.h"
#include "node/containers/container_service.h"
#include "node/facts.h"
#include "node/mpi/mpi_service.h"
#include "node/mpi/mpirun_service.h"
#include "node/output/output_pump.h"
#include "node/preemption/preemption_watch.h"
#include "node/preload/preload_service.h"
#include "node/ranks/released_ports.h"
#include "node/ranks/stdin_pump.h"
#include "node/stacks/stack_service.h"
#include "node/terminals/terminal_service.h"
#include "node/watch/rank_watch.h"
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

/// Lives on the agent's one thread. An attempt begins with one or more calls of start(). Each rank
/// ends by itself, by stop() or by kill(). Then all processes that are left are killed, and
/// AttemptEnded is sent.
class RankService {
 public:
  RankService(EventLoop& loop, AgentChannel& channel, OutputPump& pump, StdinPump& stdin_pump,
              FactsService& facts, MpiService& mpi, MpirunService& mpirun,
              ContainerService& containers, StackService& stacks, TerminalService& terminals,
              RankWatch& watch, PreemptionWatch& preemption, PreloadService& preload,
              Enclosure& enclosure);
  ~RankService();

  /// SIGCHLD must be blocked.
  [[nodiscard]] Status watch_children();
  /// Prepares what it can before the ranks of an attempt are known. Without this call, start() does
  /// so.
  void prepare();
  void start(wire::StartRanks request);
  /// Whether start() would accept the request; false: the attempt is over.
  [[nodiscard]] bool accepts(const wire::StartRanks& request) const;
  /// Starts mpirun, for an attempt whose ranks mpirun starts.
  void start_mpirun(const wire::StartMpirun& request);
  /// An empty list of ranks means all; then no further rank is started.
  void stop(const wire::StopRanks& request);
  void kill(const wire::KillRanks& request);
  void pass(const wire::SignalRanks& request);
  void see(const wire::SeeCheckpoints& question) { checkpoints_.see(question); }
  /// The process of each requested rank; 0 for ranks that have ended or were not started.
  [[nodiscard]] std::vector<RankProcess> processes(const wire::TakeStacks& request) const;
  /// The process of each rank that runs now.
  [[nodiscard]] std::vector<RankProcess> running() const;
  /// Where a program beside the rank runs, or why it cannot run.
  [[nodiscard]] tl::expected<RankPlace, std::string> place_of(
      const wire::OpenTerminal& request) const;

 private:
  struct Pending {
    std::shared_ptr<RankBatch> batch;
    std::size_t index = 0;
  };

  /// What another launcher has assigned to a rank that the agent starts.
  struct JoinContext {
    Environment variables;
    std::vector<int> cpus;
    UniqueFd pmi;  // its PMI-1 socket, or invalid
  };

  static constexpr std::chrono::milliseconds kKillRound{5};
  /// Descriptors kept free, because stopping and killing read /proc.
  static constexpr unsigned long kSpareDescriptors = 16;

  void await(const std::shared_ptr<RankBatch>& batch);
  [[nodiscard]] std::string start_joined(const Joining& joining, UniqueFd pmi);
  void mpirun_left(Rank rank);
  void mpirun_gave_up(Rank rank);
  void begin_attempt(const wire::StartRanks& request);
  void lock_cores(wire::StartRanks& request);
  /// With the first message of an attempt: the limit of open files that all ranks of this node
  /// need; 0: the present one suffices.
  [[nodiscard]] std::size_t open_files_needed(const wire::StartRanks& request);
  void start_some();
  [[nodiscard]] tl::expected<pid_t, StartFailure> start_one(
      const std::shared_ptr<RankBatch>& shared, const wire::StartRank& rank,
      JoinContext* context = nullptr);
  [[nodiscard]] tl::expected<UniqueFd, StartFailure> connect_to_others(const RankBatch& batch,
                                                                       const wire::StartRank& rank,
                                                                       JoinContext* context,
                                                                       Environment& own);
  void release_ports(const wire::StartRank& rank);
  RunningRank& watch_over(const Spawned& spawned, const std::shared_ptr<RankBatch>& batch,
                          const wire::StartRank& rank);
  [[nodiscard]] tl::expected<pid_t, StartFailure> start_contained(
      const std::shared_ptr<RankBatch>& shared, const wire::StartRank& rank);
  [[nodiscard]] bool may_start(const Pending& next) const;
  [[nodiscard]] RunningRank* find_contained(Rank rank);
  void set_container_callbacks();
  [[nodiscard]] const std::vector<std::string>* command_of(pid_t leader) const;
  bool replace(pid_t leader, pid_t successor);
  void report_slow_start(RunningRank& rank, const std::string& runtime,
                         std::chrono::milliseconds after);
  void contained_started(RunningRank& rank, pid_t program, UniqueFd terminal);
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
  void reap_rest_later();
  [[nodiscard]] bool only_templates_left() const;
  void on_ended(const Reaped& reaped, WallTime now);
  void tell_if_port_is_taken();
  /// The hardware fault of a GPU, if any. Also reports each new fault to the launcher.
  [[nodiscard]] const std::string& fault_of_gpus();
  void signal_rank(RunningRank& rank, int signal);
  void watch_companion(RunningRank& rank, pid_t companion);
  void end_aborted(Rank rank, std::chrono::milliseconds grace);
  void rank_is_over();
  void end_attempt_if_over();
  void kill_round();
  void tell_stuck(const std::vector<pid_t>& killed);
  void attempt_is_empty();

  EventLoop& loop_;
  AgentChannel& channel_;
  OutputPump& pump_;
  StdinPump& stdin_;
  FactsService& facts_;
  MpiService& mpi_;
  MpirunService& mpirun_;
  ContainerService& containers_;
  StackService& stacks_;
  TerminalService& terminals_;
  RankWatch& watch_;
  PreemptionWatch& preemption_;
  PreloadService& preload_;
  CheckpointWatch checkpoints_;
  Enclosure& enclosure_;
  std::optional<OomWatch> oom_;
  bool prepared_ = false;  // prepare() was called for the next attempt
  std::unique_ptr<WatchedFd> child_signals_;
  Timer kill_timer_;
  OpenFileLimit open_files_;
  UniqueFd null_;

  Attempt attempt_;
  bool begun_ = false;                // attempt_ is valid
  bool active_ = false;               // between the first StartRanks and AttemptEnded
  bool closed_ = false;               // no more ranks of attempt_ are started
  bool all_known_ = false;            // the last StartRanks was received
  bool ending_ = false;               // every rank is over; what is left is being killed
  bool has_open_files_ = false;       // the limit of open files was checked for attempt_
  std::size_t alive_ = 0;             // ranks that are not over
  std::deque<Pending> pending_;
  /// Containers, by number, in which no rank has run yet: the first rank starts alone, so that an
  /// image is fetched once and a fault is reported once.
  std::map<std::uint32_t, std::optional<Rank>> untried_;
  bool was_contained_ = false;              // ranks of this attempt run in containers
  std::map<Rank, Pending> awaited_;         // ranks that mpirun has not started yet
  std::shared_ptr<RankBatch> joint_batch_;  // if mpirun starts the ranks
  bool mpirun_is_to_end_ = false;           // end mpirun when no rank of this node is left
  std::unordered_map<pid_t, std::unique_ptr<RunningRank>> running_;  // by pid of the leader
  std::set<pid_t> leftovers_;
  std::set<pid_t> lookers_;        // of stacks_ and watch_, which were told to end with the attempt
  std::set<pid_t> beside_;         // those of terminals_ and preemption_, likewise
  std::set<pid_t> killed_before_;  // in the last round
  std::chrono::milliseconds kill_pause_ = kKillRound;
  bool told_stuck_ = false;
  ReleasedPorts released_;
  std::string gpu_fault_;          // ExitStatus::gpu_fault for ranks that fail from now on
  bool reaps_later_ = false;       // a further pass of reap() is posted
  bool looked_for_taken_ = false;  // released ports were checked in this pass of reap()
};

}  // namespace dlaunch
