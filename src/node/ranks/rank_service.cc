#include "node/ranks/rank_service.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>

#include "model/rank_variables.h"
#include "node/ranks/running_rank.h"
#include "node/ranks/start_files.h"
#include "os/clock.h"
#include "os/cpu_mask.h"
#include "os/signals.h"

namespace dlaunch {

namespace {

// Ranks started in one turn of the loop: enough to be fast, few enough to react to Ctrl-C.
constexpr std::size_t kStartsPerTurn = 16;

// Open briefly while a rank is started: the rank's ends of three pipes and of a socket, and our end
// of its input.
constexpr std::size_t kDescriptorsToStart = 5;
// Per rank in a container: the runtime's output, the order, the connection to the entry process
// and, until the rank runs, the other ends of its streams.
constexpr std::size_t kDescriptorsOfContained = 6;
// Per rank that may wait for a template: its connection, and a copy that the template gets.
constexpr std::size_t kDescriptorsToPreload = 2;

/// Adds the variables by which the rank's MPI library finds its launcher.
void take_variables(const Environment& given, bool has_pmi, Environment& own) {
  for (const auto& [name, value] : given) own[name] = value;
  if (has_pmi) own["PMI_FD"] = std::to_string(kPmiDescriptor);
}

}  // namespace

RankService::RankService(EventLoop& loop, AgentChannel& channel, OutputPump& pump,
                         StdinPump& stdin_pump, FactsService& facts, MpiService& mpi,
                         MpirunService& mpirun, ContainerService& containers, StackService& stacks,
                         TerminalService& terminals, RankWatch& watch,
                         PreemptionWatch& preemption, PreloadService& preload,
                         Enclosure& enclosure)
    : loop_(loop),
      channel_(channel),
      pump_(pump),
      stdin_(stdin_pump),
      facts_(facts),
      mpi_(mpi),
      mpirun_(mpirun),
      containers_(containers),
      stacks_(stacks),
      terminals_(terminals),
      watch_(watch),
      preemption_(preemption),
      preload_(preload),
      checkpoints_(loop, [this](const wire::FromAgent& message) { channel_.send(message); }),
      enclosure_(enclosure),
      kill_timer_(loop),
      open_files_(raise_open_file_limit(kSpareDescriptors)),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  mpi_.on_abort([this](Rank rank, std::chrono::milliseconds grace) { end_aborted(rank, grace); });
  mpirun_.set_callbacks(
      {.joining = {.on_joined =
                       [this](const Joining& joining, UniqueFd pmi) {
                         return start_joined(joining, std::move(pmi));
                       },
                   .on_left = [this](Rank rank) { mpirun_left(rank); }},
       .on_given_up = [this](Rank rank) { mpirun_gave_up(rank); }});
  set_container_callbacks();
  preload_.set_ranks({.command_of = [this](pid_t leader) { return command_of(leader); },
                      .replace = [this](pid_t leader, pid_t successor) {
                        return replace(leader, successor);
                      }});
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

bool RankService::accepts(const wire::StartRanks& request) const {
  const bool known = begun_ && request.attempt == attempt_;
  // The launcher ends one attempt before it starts the next; further messages for an attempt that
  // was stopped or has ended may still arrive.
  return known ? !closed_ : !active_;
}

void RankService::start(wire::StartRanks request) {
  if (!accepts(request)) return;
  if (!begun_ || request.attempt != attempt_) begin_attempt(request);
  all_known_ = request.last;
  lock_cores(request);
  preload_.begin(request);
  pump_.begin(request.attempt, request.log_folder, request.output_credit);
  // Fail now, and not later when output arrives and its file cannot be opened.
  if (const std::size_t needed = open_files_needed(request); needed > 0) {
    not_started(request.ranks.front(),
                {StartFailure::Step::resources, EMFILE,
                 "the ranks of this node need " + std::to_string(needed) +
                     " open files, but the hard limit is " + std::to_string(open_files_.hard),
                 ""});
    return end_attempt_if_over();
  }
  if (auto written = write_start_files(request.files); !written && !request.ranks.empty()) {
    not_started(request.ranks.front(), std::move(written.error()));
    return end_attempt_if_over();
  }
  if (auto begun = containers_.begin(request); !begun && !request.ranks.empty()) {
    not_started(request.ranks.front(), std::move(begun.error()));
    return end_attempt_if_over();
  }
  was_contained_ = was_contained_ || !request.containers.empty();
  auto batch = std::make_shared<RankBatch>(std::move(request));
  if (!batch->request.join_folder.empty()) return await(batch);
  for (std::size_t i = 0; i < batch->request.ranks.size(); ++i) pending_.push_back({batch, i});
  start_some();
}

void RankService::begin_attempt(const wire::StartRanks& request) {
  prepare();
  prepared_ = false;
  oom_->begin();
  gpu_fault_.clear();
  attempt_ = request.attempt;
  begun_ = active_ = true;
  ending_ = closed_ = told_stuck_ = false;
  lookers_.clear();
  beside_.clear();
  killed_before_.clear();
  kill_pause_ = kKillRound;
  alive_ = 0;
  has_open_files_ = false;
  running_.clear();
  leftovers_.clear();
  released_.clear();
  awaited_.clear();
  joint_batch_.reset();
  mpirun_is_to_end_ = false;
  checkpoints_.begin(request);
}

void RankService::lock_cores(wire::StartRanks& request) {
  std::vector<int> cpus;
  for (const wire::StartRank& rank : request.ranks)
    cpus.insert(cpus.end(), rank.cpus.begin(), rank.cpus.end());
  if (cpus.empty()) return;
  const FactsService::Cores cores = facts_.lock_cores(cpus);
  if (!cores.note.empty()) channel_.send(wire::Notice{cores.note});
  if (cores.are_ours) return;
  // Another run took the cores after the facts were gathered: two jobs on one core are worse than
  // no binding.
  for (wire::StartRank& rank : request.ranks) rank.cpus.clear();
}

std::size_t RankService::open_files_needed(const wire::StartRanks& request) {
  if (std::exchange(has_open_files_, true) || request.ranks.empty()) return 0;
  // For stdout and stderr, and for MPI.
  const std::size_t for_others = request.join_folder.empty()
                                     ? mpi_.descriptors_per_rank()
                                     : MpirunService::descriptors_per_rank(request.are_mpi);
  const std::size_t per_rank = (request.log_folder.empty() ? 2 : 4) + for_others +
                               (request.preload.empty() ? 0 : kDescriptorsToPreload);
  std::size_t needed = 0;
  for (const wire::StartRank& rank : request.ranks) {
    // Ports are released before the log files are opened.
    const std::size_t held = rank.release_ports.size();
    const std::size_t most = per_rank + (rank.container > 0 ? kDescriptorsOfContained : 0);
    needed += most - std::min(most, held);
  }
  // Further messages have ranks like these.
  const std::size_t ranks = std::max<std::size_t>(request.on_node, request.ranks.size());
  needed = (needed * ranks + request.ranks.size() - 1) / request.ranks.size();
  const std::size_t left = free_descriptors();
  if (needed + kDescriptorsToStart <= left) return 0;
  const std::size_t open = open_file_limit().soft - left;
  return open + needed + kDescriptorsToStart + kSpareDescriptors;
}

void RankService::start_some() {
  wire::RanksStarted started{attempt_, {}};
  const auto startable = [this](const Pending& one) { return may_start(one); };
  for (std::size_t i = 0; i < kStartsPerTurn; ++i) {
    const auto found = std::find_if(pending_.begin(), pending_.end(), startable);
    if (found == pending_.end()) break;
    const Pending next = *found;
    pending_.erase(found);
    const wire::StartRank& rank = next.batch->request.ranks[next.index];
    const bool contained = next.batch->container(rank) != nullptr;
    auto pid = contained ? start_contained(next.batch, rank) : start_one(next.batch, rank);
    if (pid && contained) continue;  // reported when its program runs
    if (pid) {
      started.ranks.push_back({rank.rank, *pid, wall_now()});
    } else {
      not_started(rank, std::move(pid.error()));
    }
  }
  if (!started.ranks.empty()) channel_.send(started);
  if (std::any_of(pending_.begin(), pending_.end(), startable))
    loop_.post([this] { start_some(); });
  end_attempt_if_over();
}

/// Adds to `own` what the rank needs to reach the others. Returns its PMI-1 socket, or invalid.
tl::expected<UniqueFd, StartFailure> RankService::connect_to_others(const RankBatch& batch,
                                                                    const wire::StartRank& rank,
                                                                    JoinContext* context,
                                                                    Environment& own) {
  if (context == nullptr) return mpi_.connect(rank.rank, batch.base.variables(), own);
  take_variables(context->variables, context->pmi.valid(), own);
  return std::move(context->pmi);
}

/// Called as late as possible: the rank itself will listen on these ports.
void RankService::release_ports(const wire::StartRank& rank) {
  for (const std::uint16_t port : rank.release_ports) {
    facts_.release_port(port);
    released_.add(rank.rank, port, monotonic_now());
  }
}

tl::expected<pid_t, StartFailure> RankService::start_one(const std::shared_ptr<RankBatch>& shared,
                                                         const wire::StartRank& rank,
                                                         JoinContext* context) {
  RankBatch& batch = *shared;
  auto made = rank.terminal ? make_rank_terminal() : make_pipes(rank.wants_stdin);
  if (!made) return tl::unexpected(made.error());
  auto& [in, out, err] = *made;
  const wire::StartCommand& command = batch.request.commands[rank.command];
  Environment own = rank.env;
  const auto pmi = connect_to_others(batch, rank, context, own);
  if (!pmi) return tl::unexpected(pmi.error());
  // A fork of the template could not get the rank's terminal.
  if (!rank.terminal) preload_.add_variables(batch.base.variables(), own);
  const EnvironmentBlock environment(batch.base, own);
  const std::vector<const char*> argv = argv_pointers(command.argv);
  CpuMask cpus(context != nullptr ? context->cpus : rank.cpus);
  const rlimit open_files{open_files_.soft, open_files_.hard};
  SpawnRequest request;
  request.program = &batch.program(rank.command, environment.search_path());
  request.argv = argv.data();
  request.envp = environment.pointers();
  request.workdir = batch.request.workdir.c_str();
  request.stdin_fd = rank.wants_stdin ? in.read.get() : null_.get();
  request.stdout_fd = out.write.get();
  request.stderr_fd = err.write.get();
  request.extra_fd = pmi->get();
  request.extra_fd_number = kPmiDescriptor;
  request.cpus = cpus.set();
  request.cpus_size = cpus.size();
  request.open_files = &open_files;
  request.cgroup = enclosure_.cgroup_fd();
  request.outer_proc = enclosure_.outer_proc();
  request.new_session = request.own_terminal = rank.terminal;
  release_ports(rank);
  const auto spawned = spawn(request);
  if (!spawned) return tl::unexpected(spawned.error());
  if (spawned->cgroup_is_unusable) {
    enclosure_.stop_using_cgroup();
    oom_.emplace(find_oom_sources(enclosure_.cgroup_path(), enclosure_.outer_proc()));
    oom_->begin();
  }

  watch_over(*spawned, shared, rank);
  pump_.add(rank.rank, Stream::out, std::move(out.read), rank.is_shown);
  pump_.add(rank.rank, Stream::err, std::move(err.read), rank.is_shown);
  if (rank.wants_stdin) stdin_.connect(attempt_, std::move(in.write), rank.terminal);
  return spawned->outer_pid;
}

RunningRank& RankService::watch_over(const Spawned& spawned,
                                     const std::shared_ptr<RankBatch>& batch,
                                     const wire::StartRank& rank) {
  const wire::StartCommand& command = batch->request.commands[rank.command];
  auto running = std::make_unique<RunningRank>();
  running->rank = rank.rank;
  running->leader = spawned.pid;
  running->outer_pid = spawned.outer_pid;
  running->command = &command.argv;
  if (command.is_own_shell) running->argv = &command.argv;
  running->batch = batch;
  running->wants_stdin = rank.wants_stdin;
  // An earlier rank that has ended may have had the same pid.
  RunningRank& watched = *running;
  running_.insert_or_assign(spawned.pid, std::move(running));
  ++alive_;
  return watched;
}

const std::vector<std::string>* RankService::command_of(pid_t leader) const {
  const auto found = running_.find(leader);
  const bool is_ours = active_ && !ending_ && found != running_.end() && !found->second->exited;
  return is_ours && !found->second->contained ? found->second->command : nullptr;
}

bool RankService::replace(pid_t leader, pid_t successor) {
  if (command_of(leader) == nullptr || running_.at(leader)->signalled) return false;
  beside_.insert(leader);  // it ends now
  auto node = running_.extract(leader);
  node.key() = successor;
  RunningRank& rank = *node.mapped();
  rank.leader = successor;
  rank.outer_pid = enclosure_.outer_pid(successor);
  rank.argv = nullptr;
  running_.insert(std::move(node));
  channel_.send(wire::RanksStarted{attempt_, {{rank.rank, rank.outer_pid, wall_now()}}});
  return true;
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

}  // namespace dlaunch
