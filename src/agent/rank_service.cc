#include "agent/rank_service.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include "agent/carried_environment.h"
#include "agent/environment_block.h"
#include "agent/start_files.h"
#include "model/pmi.h"
#include "os/clock.h"
#include "os/proc_file.h"
#include "os/signals.h"

extern char** environ;

namespace dlaunch {

namespace {

// Ranks started in one turn of the loop: enough to be fast, few enough to notice a Ctrl-C
// meanwhile.
constexpr std::size_t kStartsPerTurn = 16;

constexpr std::chrono::milliseconds kKillRound{5};

// Kept from pipes and log files: stopping and killing read /proc.
constexpr unsigned long kSpareDescriptors = 16;
// What starting a rank has open for a moment: its ends of three pipes and of a socket, and its
// input's other one counts as well.
constexpr std::size_t kDescriptorsToStart = 5;

class CpuMask {
 public:
  explicit CpuMask(const std::vector<int>& cpus) {
    if (cpus.empty()) return;
    const auto count = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
    size_ = CPU_ALLOC_SIZE(count);
    words_.resize(size_ / sizeof(unsigned long) + 1, 0UL);
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size_, set());
  }
  [[nodiscard]] cpu_set_t* set() {
    return size_ == 0 ? nullptr : reinterpret_cast<cpu_set_t*>(words_.data());
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::vector<unsigned long> words_;
  std::size_t size_ = 0;
};

/// Of a list that is empty when all ranks are meant.
bool is_meant(const std::vector<Rank>& ranks, Rank rank) {
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// What the rank's MPI library finds its launcher by.
void take_variables(const Environment& given, bool has_pmi, Environment& own) {
  for (const auto& [name, value] : given) own[name] = value;
  if (has_pmi) own["PMI_FD"] = std::to_string(kPmiDescriptor);
}

/// The pipes of one rank; `in` only where it reads the job's stdin.
struct RankPipes {
  Pipe in;
  Pipe out;
  Pipe err;
};

tl::expected<RankPipes, StartFailure> make_pipes(bool with_stdin) {
  RankPipes pipes;
  for (Pipe* pipe : {&pipes.out, &pipes.err, &pipes.in}) {
    if (pipe == &pipes.in && !with_stdin) continue;
    auto made = make_pipe();
    if (!made)
      return tl::unexpected(StartFailure{StartFailure::Step::resources, made.error(), "pipe", ""});
    *pipe = std::move(*made);
  }
  return pipes;
}

void kill_tree(pid_t root) {
  for (const pid_t child : children_of(root)) kill_tree(child);
  ::kill(root, SIGKILL);
}

/// True if the process still executes exactly this command: a shell that ends its script with a
/// plain command has become that command, and the children are then the user's (data loaders), not
/// ours.
bool runs_command(pid_t pid, const std::vector<std::string>& argv) {
  std::string expected;
  for (const std::string& argument : argv) expected.append(argument).push_back('\0');
  // One byte more than expected: a longer command line is another command.
  const std::string file = "/proc/" + std::to_string(pid) + "/cmdline";
  return read_proc_file(file, expected.size() + 1) == expected;
}

/// Or is a shell whose last command did.
bool died_of_sigkill(const ExitStatus& status) {
  return status.code() == exit_code::kSignalBase + SIGKILL;
}

}  // namespace

/// What the ranks of one StartRanks have in common, prepared once.
struct RankService::Batch {
  explicit Batch(wire::StartRanks r)
      : request(std::move(r)),
        base(carried_environment(environment_from_block(environ), request.carried, request.workdir,
                                 folder_exists),
             request.scrub, request.defaults, request.env) {}

  const Program& program(std::uint32_t command, const std::string& search_path) {
    const auto key = std::pair{command, search_path};
    auto found = programs.find(key);
    if (found == programs.end()) {
      const std::string& name = request.commands[command].argv.front();
      found = programs.emplace(key, find_program(name, search_path, request.workdir)).first;
    }
    return found->second;
  }

  wire::StartRanks request;
  EnvironmentBase base;
  std::map<std::pair<std::uint32_t, std::string>, Program> programs;
};

struct RankService::RunningRank {
  Rank rank;
  pid_t leader = 0;
  pid_t outer_pid = 0;                             // as the node numbers it
  const std::vector<std::string>* argv = nullptr;  // of our own shell; null for other commands
  std::shared_ptr<Batch> batch;                    // holds argv
  bool wants_stdin = false;
  bool exited = false;
  bool left = false;       // what mpirun had started for it has been ended, so it may end of that
  bool signalled = false;  // by us, on the launcher's word, before it had ended
  bool counted_over = false;
  std::unique_ptr<Timer> abort_grace;
  // Direct children of our own shell that were signalled with it: the rank lasts as long as they
  // do.
  std::map<pid_t, std::unique_ptr<WatchedFd>> companions;

  [[nodiscard]] bool over() const { return exited && companions.empty(); }
};

RankService::RankService(EventLoop& loop, Channel& channel, OutputPump& pump, StdinPump& stdin_pump,
                         FactsService& facts, MpiService& mpi, MpirunService& mpirun,
                         Enclosure& enclosure)
    : loop_(loop),
      channel_(channel),
      pump_(pump),
      stdin_(stdin_pump),
      facts_(facts),
      mpi_(mpi),
      mpirun_(mpirun),
      enclosure_(enclosure),
      kill_timer_(loop),
      open_files_(raise_open_file_limit(kSpareDescriptors)),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  mpi_.on_abort([this](Rank rank, std::chrono::milliseconds grace) { end_aborted(rank, grace); });
  mpirun_.set_callbacks([this](const Joining& joining,
                               UniqueFd pmi) { return start_joined(joining, std::move(pmi)); },
                        [this](Rank rank) { mpirun_left(rank); },
                        [this](Rank rank) { mpirun_gave_up(rank); });
}

RankService::~RankService() = default;

Status RankService::watch_children() {
  auto fd = open_signal_fd({SIGCHLD});
  if (!fd) return tl::unexpected(fd.error());
  child_signals_ = std::make_unique<WatchedFd>(loop_, std::move(*fd));
  wait_for_children();
  return {};
}

void RankService::prepare() {
  if (active_ || prepared_) return;
  enclosure_.prepare();
  oom_.emplace(find_oom_sources(enclosure_.cgroup_path(), enclosure_.outer_proc()));
  prepared_ = true;
}

void RankService::start(wire::StartRanks request) {
  const bool known = begun_ && request.attempt == attempt_;
  if (active_ && !known) return;  // the launcher ends one attempt before the next
  if (!known) begin_attempt(request);
  // A later part of an attempt that was stopped, or has ended, since its first part came.
  if (closed_) return;
  all_known_ = request.last;
  lock_cores(request);
  pump_.begin(request.attempt, request.log_folder, request.output_credit);
  // Now, and not when the first bytes come for which no file can be opened.
  if (!descriptors_suffice(request) && !request.ranks.empty()) {
    not_started(request.ranks.front(), {StartFailure::Step::resources, EMFILE,
                                        "pipes and log files of all ranks of the node", ""});
    return end_attempt_if_over();
  }
  if (auto written = write_start_files(request.files); !written && !request.ranks.empty()) {
    not_started(request.ranks.front(), std::move(written.error()));
    return end_attempt_if_over();
  }
  auto batch = std::make_shared<Batch>(std::move(request));
  if (!batch->request.join_folder.empty()) return await(batch);
  for (std::size_t i = 0; i < batch->request.ranks.size(); ++i) pending_.push_back({batch, i});
  start_some();
}

void RankService::await(const std::shared_ptr<Batch>& batch) {
  const std::string& folder = batch->request.join_folder;
  if (const auto opened = mpirun_.begin(attempt_, folder); !opened) {
    not_started(batch->request.ranks.front(),
                {StartFailure::Step::resources, opened.error(), folder, ""});
    return end_attempt_if_over();
  }
  if (!joint_batch_) joint_batch_ = batch;
  const auto& ranks = batch->request.ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) awaited_[ranks[i].rank] = {batch, i};
  if (all_known_) channel_.send(wire::RanksAwaited{attempt_});
}

void RankService::start_mpirun(const wire::StartMpirun& request) {
  if (!active_ || closed_ || request.attempt != attempt_ || !joint_batch_) return;
  const wire::StartRanks& ranks = joint_batch_->request;
  const EnvironmentBase base(carried_environment(environment_from_block(environ), ranks.carried,
                                                 ranks.workdir, folder_exists),
                             ranks.scrub, {}, request.env);
  mpirun_.start({request.argv, base.variables(), ranks.workdir, enclosure_.cgroup_fd()});
}

std::string RankService::start_joined(const Joining& joining, UniqueFd pmi) {
  const auto found = awaited_.find(joining.rank);
  if (closed_) return "the attempt is about to end";
  if (found == awaited_.end()) {
    return "it is none that dlaunch has planned for this node, or it is here already; the hosts "
           "and the mapping must be those of the plan";
  }
  const Pending next = found->second;
  awaited_.erase(found);
  const wire::StartRank& rank = next.batch->request.ranks[next.index];
  const Place place{joining.variables, joining.cpus, std::move(pmi)};
  auto pid = start_one(next.batch, rank, &place);
  if (pid) {
    channel_.send(wire::RanksStarted{attempt_, {{rank.rank, *pid, wall_now()}}});
  } else {
    not_started(rank, std::move(pid.error()));
    end_attempt_if_over();
  }
  return {};
}

/// mpirun ends them all when one has called MPI_Abort, or when it fails itself: how they end then
/// is its doing, and its own end says why.
void RankService::mpirun_left(Rank rank) {
  for (auto& [pid, running] : running_) {
    if (running->rank == rank && !running->exited) running->left = true;
  }
}

void RankService::mpirun_gave_up(Rank rank) {
  for (auto& [pid, running] : running_) {
    // What was told to end has the grace that the job gives it.
    if (running->rank != rank || running->exited || running->signalled) continue;
    running->left = false;  // mpirun goes on, so this is a failure
    channel_.send(
        wire::Notice{"rank " + std::to_string(rank.value) +
                     ": mpirun has ended what it had started for it; the rank is killed"});
    kill_tree(pid);
  }
}

void RankService::begin_attempt(const wire::StartRanks& request) {
  prepare();
  prepared_ = false;
  oom_->begin();
  attempt_ = request.attempt;
  begun_ = active_ = true;
  ending_ = closed_ = false;
  alive_ = 0;
  counted_descriptors_ = false;
  running_.clear();
  leftovers_.clear();
  released_.clear();
  awaited_.clear();
  joint_batch_.reset();
  mpirun_is_to_end_ = false;
}

void RankService::lock_cores(wire::StartRanks& request) {
  std::vector<int> cpus;
  for (const wire::StartRank& rank : request.ranks)
    cpus.insert(cpus.end(), rank.cpus.begin(), rank.cpus.end());
  if (cpus.empty() || facts_.lock_cores(cpus)) return;
  // Between the facts and now another run took them: two jobs on one core would be worse than no
  // binding.
  for (wire::StartRank& rank : request.ranks) rank.cpus.clear();
  channel_.send(wire::Notice{"another run took the planned cores first: ranks are not bound"});
}

bool RankService::descriptors_suffice(const wire::StartRanks& request) {
  const std::size_t per_rank =  // stdout and stderr, and what MPI needs
      (request.log_folder.empty() ? 2 : 4) + mpi_.descriptors_per_rank();
  std::size_t needed = 0;
  std::size_t held = 0;  // ports, which are given free before the log files come
  for (const wire::StartRank& rank : request.ranks) {
    needed += per_rank;
    held += rank.release_ports.size();
  }
  if (!counted_descriptors_) {
    counted_descriptors_ = true;
    const std::size_t left = free_descriptors();
    descriptors_left_ = left > kDescriptorsToStart ? left - kDescriptorsToStart : 0;
  }
  descriptors_left_ += held;
  if (needed > descriptors_left_) return false;
  descriptors_left_ -= needed;
  return true;
}

void RankService::start_some() {
  wire::RanksStarted started{attempt_, {}};
  for (std::size_t i = 0; i < kStartsPerTurn && !pending_.empty(); ++i) {
    const Pending next = pending_.front();
    pending_.pop_front();
    const wire::StartRank& rank = next.batch->request.ranks[next.index];
    auto pid = start_one(next.batch, rank);
    if (pid) {
      started.ranks.push_back({rank.rank, *pid, wall_now()});
    } else {
      not_started(rank, std::move(pid.error()));
    }
  }
  if (!started.ranks.empty()) channel_.send(started);
  if (!pending_.empty()) loop_.post([this] { start_some(); });
  end_attempt_if_over();
}

tl::expected<pid_t, StartFailure> RankService::start_one(const std::shared_ptr<Batch>& shared,
                                                         const wire::StartRank& rank,
                                                         const Place* place) {
  Batch& batch = *shared;
  auto made = make_pipes(rank.wants_stdin);
  if (!made) return tl::unexpected(made.error());
  auto& [in, out, err] = *made;
  const wire::StartCommand& command = batch.request.commands[rank.command];
  Environment own = rank.env;
  tl::expected<UniqueFd, StartFailure> pmi;
  if (place == nullptr) {
    pmi = mpi_.connect(rank.rank, batch.base.variables(), own);
    if (!pmi) return tl::unexpected(pmi.error());
  } else {
    take_variables(place->variables, place->pmi.valid(), own);
  }
  const EnvironmentBlock environment(batch.base, own);
  std::vector<const char*> argv;
  argv.reserve(command.argv.size() + 1);
  for (const std::string& argument : command.argv) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  CpuMask cpus(place != nullptr ? place->cpus : rank.cpus);
  const rlimit open_files{open_files_.soft, open_files_.hard};
  SpawnRequest request;
  request.program = &batch.program(rank.command, environment.search_path());
  request.argv = argv.data();
  request.envp = environment.pointers();
  request.workdir = batch.request.workdir.c_str();
  request.stdin_fd = rank.wants_stdin ? in.read.get() : null_.get();
  request.stdout_fd = out.write.get();
  request.stderr_fd = err.write.get();
  request.extra_fd = place != nullptr ? place->pmi.get() : pmi->get();
  request.extra_fd_number = kPmiDescriptor;
  request.cpus = cpus.set();
  request.cpus_size = cpus.size();
  request.open_files = &open_files;
  request.cgroup = enclosure_.cgroup_fd();
  request.outer_proc = enclosure_.outer_proc();
  // The rank listens on these itself: given free as late as can be.
  for (const std::uint16_t port : rank.release_ports) {
    facts_.release_port(port);
    released_.add(rank.rank, port, monotonic_now());
  }
  const auto spawned = spawn(request);
  if (!spawned) return tl::unexpected(spawned.error());
  if (spawned->cgroup_is_unusable) enclosure_.fill_cgroup_no_more();

  watch_over(*spawned, shared, rank);
  pump_.add(rank.rank, Stream::out, std::move(out.read), rank.is_shown);
  pump_.add(rank.rank, Stream::err, std::move(err.read), rank.is_shown);
  if (rank.wants_stdin) stdin_.connect(attempt_, std::move(in.write));
  return spawned->outer_pid;
}

void RankService::watch_over(const Spawned& spawned, const std::shared_ptr<Batch>& batch,
                             const wire::StartRank& rank) {
  const wire::StartCommand& command = batch->request.commands[rank.command];
  auto running = std::make_unique<RunningRank>();
  running->rank = rank.rank;
  running->leader = spawned.pid;
  running->outer_pid = spawned.outer_pid;
  if (command.is_own_shell) running->argv = &command.argv;
  running->batch = batch;
  running->wants_stdin = rank.wants_stdin;
  // The pid may have been that of a rank which has ended since.
  running_.insert_or_assign(spawned.pid, std::move(running));
  ++alive_;
}

void RankService::not_started(const wire::StartRank& rank, StartFailure failure) {
  channel_.send(wire::RankNotStarted{attempt_, rank.rank, std::move(failure), wall_now()});
  start_no_more();
}

void RankService::start_no_more() {
  raise_open_file_limit();
  pending_.clear();
  mpirun_is_to_end_ = mpirun_is_to_end_ || !awaited_.empty();
  awaited_.clear();
  all_known_ = closed_ = true;
}

void RankService::start_none_of(const std::vector<Rank>& ranks) {
  std::erase_if(pending_, [&](const Pending& pending) {
    return is_meant(ranks, pending.batch->request.ranks[pending.index].rank);
  });
}

void RankService::stop(const wire::StopRanks& request) {
  if (!active_ || request.attempt != attempt_) return;
  reap();  // who has ended before the signal did so by itself
  if (!active_) return;
  request.ranks.empty() ? start_no_more() : start_none_of(request.ranks);
  for (auto& [pid, rank] : running_) {
    if (rank->exited || !is_meant(request.ranks, rank->rank)) continue;
    rank->signalled = true;
    signal_rank(*rank, request.signal);
  }
  // Asked for when no rank is left anywhere, or has come: mpirun is what is to be stopped then.
  if (request.ranks.empty() && alive_ == 0) mpirun_.terminate();
  end_attempt_if_over();
}

void RankService::pass(const wire::SignalRanks& request) {
  if (!active_ || request.attempt != attempt_) return;
  for (const auto& [pid, rank] : running_) {
    if (rank->exited) continue;
    // Our own shell would end of a signal that its command waits for.
    const bool is_shell = rank->argv != nullptr && runs_command(rank->leader, *rank->argv);
    if (!is_shell) {
      ::kill(rank->leader, request.signal);
      continue;
    }
    for (const pid_t child : children_of(rank->leader)) ::kill(child, request.signal);
  }
}

void RankService::signal_rank(RunningRank& rank, int signal) {
  // Children first: a shell that dies of the signal would leave them to be found nowhere.
  if (rank.argv != nullptr && runs_command(rank.leader, *rank.argv)) {
    for (const pid_t child : children_of(rank.leader)) {
      watch_companion(rank, child);
      ::kill(child, signal);
      ::kill(child, SIGCONT);
    }
  }
  ::kill(rank.leader, signal);
  ::kill(rank.leader, SIGCONT);  // a stopped process takes no other signal
}

void RankService::watch_companion(RunningRank& rank, pid_t companion) {
  if (rank.companions.contains(companion)) return;
  UniqueFd pidfd(open_pidfd(companion));
  if (!pidfd) return;
  auto watched = std::make_unique<WatchedFd>(loop_, std::move(pidfd));
  watched->on_readable([this, &rank, companion] {
    rank.companions.erase(companion);
    if (rank.over() && !rank.counted_over) {
      rank.counted_over = true;
      rank_is_over();
    }
  });
  rank.companions.emplace(companion, std::move(watched));
}

void RankService::kill(const wire::KillRanks& request) {
  if (!active_ || request.attempt != attempt_) return;
  reap();
  if (!active_) return;
  request.ranks.empty() ? start_no_more() : start_none_of(request.ranks);
  for (auto& [pid, rank] : running_) {
    if (rank->exited || !is_meant(request.ranks, rank->rank)) continue;
    rank->signalled = true;
    // Orphans of single ranks stay until the attempt ends: nobody can tell whose they were.
    if (!request.ranks.empty()) kill_tree(pid);
  }
  if (request.ranks.empty()) {
    mpirun_.expect_end();
    kill_round();
  }
  end_attempt_if_over();
}

void RankService::wait_for_children() {
  child_signals_->on_readable([this] {
    reap();
    wait_for_children();
  });
}

void RankService::reap() {
  while (read_signal(child_signals_->get()) != 0) {
  }
  // One time for all that are found in this pass: they ended since the last one, in an unknown
  // order.
  const WallTime now = wall_now();
  looked_for_taken_ = false;
  // First: ranks may end because mpirun has.
  if (mpirun_.reap(now)) loop_.post([this] { end_attempt_if_over(); });
  bool none_left = false;
  while (const auto reaped = reap_one(none_left)) {
    // It may have ended since it was looked at above.
    if (mpirun_.was_reaped(reaped->pid, reaped->status, now)) {
      loop_.post([this] { end_attempt_if_over(); });
    } else {
      on_ended(*reaped, now);
    }
  }
  if (ending_ && none_left) attempt_is_empty();
}

void RankService::on_ended(const Reaped& reaped, WallTime now) {
  const auto found = running_.find(reaped.pid);
  if (found == running_.end() || found->second->exited) return;  // an orphan that came to us
  RunningRank& rank = *found->second;
  mpirun_.catch_up();
  rank.exited = true;
  if (rank.wants_stdin) stdin_.close();
  ExitStatus status = reaped.status;
  if (!rank.signalled) mpi_.judge(rank.rank, status);
  if (!status.ok() && !rank.signalled) tell_if_port_is_taken();
  if (!rank.signalled && died_of_sigkill(status))
    status.out_of_memory = oom_->evidence(rank.outer_pid);
  mpirun_.rank_ended(rank.rank, status);
  const bool not_by_itself = rank.signalled || rank.left;
  channel_.send(wire::RankExited{attempt_, rank.rank, std::move(status), now, not_by_itself});
  if (rank.over()) {
    rank.counted_over = true;
    rank_is_over();
  }
}

/// The job ends by its end, so it must come, whatever a shell around it does next.
void RankService::end_aborted(Rank rank, std::chrono::milliseconds grace) {
  for (auto& [pid, running] : running_) {
    if (running->rank != rank || running->exited) continue;
    running->abort_grace = std::make_unique<Timer>(loop_);
    running->abort_grace->after(grace, [&running = *running] {
      if (!running.exited) kill_tree(running.leader);
    });
  }
}

void RankService::tell_if_port_is_taken() {
  if (looked_for_taken_) return;
  looked_for_taken_ = true;
  auto taken = released_.find_taken(monotonic_now());
  if (taken) channel_.send(wire::PortTaken{attempt_, taken->rank, std::move(taken->port)});
}

void RankService::rank_is_over() {
  --alive_;
  if (alive_ == 0 && mpirun_is_to_end_) mpirun_.terminate();
  end_attempt_if_over();
}

void RankService::end_attempt_if_over() {
  if (!active_ || ending_ || !all_known_ || !pending_.empty() || alive_ > 0) return;
  if (!awaited_.empty() || mpirun_.running()) return;
  ending_ = true;
  raise_open_file_limit();
  // As an event of its own: the caller may be in the middle of a pass over the ranks.
  loop_.post([this] {
    reap();
    mpi_.finish([this] {
      reap();
      if (active_) kill_round();
    });
  });
}

void RankService::kill_round() {
  mpi_.expect_end();
  std::set<pid_t> spared;
  if (const auto server = mpi_.process()) spared.insert(*server);
  const std::vector<pid_t> killed = enclosure_.kill_once(spared);
  if (ending_) leftovers_.insert(killed.begin(), killed.end());
  // The deaths come as SIGCHLD; further rounds are for what was forked in the middle of this one.
  kill_timer_.after(kKillRound, [this] {
    if (active_) kill_round();
  });
}

void RankService::attempt_is_empty() {
  active_ = ending_ = false;
  raise_open_file_limit(kSpareDescriptors);
  closed_ = true;
  kill_timer_.cancel();
  pump_.drain();
  stdin_.close();
  mpirun_.end();
  facts_.unlock_cores();
  facts_.release_all_ports();
  channel_.send(wire::AttemptEnded{attempt_, static_cast<std::uint32_t>(leftovers_.size())});
}

}  // namespace dlaunch
