// The part of RankService for ranks that another program starts: mpirun, by proxies that join
// (join_listener.h), or a container runtime. The runtime is the child that RankService watches; the
// program runs elsewhere, and the entry process beside it (container_entry.h) reports on it.
#include <algorithm>
#include <csignal>
#include <utility>

#include "node/ranks/rank_service.h"
#include "node/ranks/running_rank.h"
#include "os/clock.h"
#include "os/job_tree.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostSaid = 16384;
constexpr std::size_t kMostShown = 2000;
constexpr std::size_t kMostOfALine = 200;
constexpr std::chrono::seconds kSilent{10};
constexpr std::chrono::minutes kSilentAgain{1};
// The entry process ends its container in milliseconds, unless it is stopped.
constexpr std::chrono::seconds kLeaveLimit{10};

/// The end of the runtime's output, which contains the reason for a failure.
std::string last_words(std::string said) {
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r' || said.back() == ' '))
    said.pop_back();
  if (said.size() > kMostShown) said = "..." + said.substr(said.size() - kMostShown);
  return said;
}

/// The last line of a progress report, without control characters.
std::string last_line(std::string_view said) {
  const auto is_end = [](char c) { return c == '\n' || c == '\r'; };
  while (!said.empty() && is_end(said.back())) said.remove_suffix(1);
  std::string line(std::find_if(said.rbegin(), said.rend(), is_end).base(), said.end());
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (line.size() > kMostOfALine) line = "..." + line.substr(line.size() - kMostOfALine);
  return line;
}

}  // namespace

void RankService::set_container_callbacks() {
  ContainerService::Callbacks callbacks;
  callbacks.on_started = [this](Rank rank, pid_t program, UniqueFd terminal) {
    if (RunningRank* running = find_contained(rank))
      contained_started(*running, program, std::move(terminal));
  };
  callbacks.on_failed = [this](Rank rank, StartFailure failure) {
    if (RunningRank* running = find_contained(rank)) contained_failed(*running, std::move(failure));
  };
  callbacks.on_ended = [this](Rank rank, const ExitStatus& status) {
    RunningRank* running = find_contained(rank);
    if (running != nullptr && !running->exited) tell_end(*running, status, wall_now());
  };
  callbacks.on_left = [this](Rank rank) {
    terminals_.container_left(rank);
    if (RunningRank* running = find_contained(rank)) contained_left(*running);
  };
  callbacks.on_beside = [this](Rank rank, const BesideStarted& started, UniqueFd terminal) {
    terminals_.started(rank, started, std::move(terminal));
  };
  callbacks.on_beside_ended = [this](Rank rank, const wire::TerminalEnded& ended) {
    terminals_.ended(rank, ended);
  };
  containers_.set_callbacks(std::move(callbacks));
}

RunningRank* RankService::find_contained(Rank rank) {
  for (auto& [pid, running] : running_) {
    if (running->rank == rank && running->contained) return running.get();
  }
  return nullptr;
}

/// The first rank of a container starts alone; the others start once it runs.
bool RankService::may_start(const Pending& next) const {
  const auto tried = untried_.find(next.batch->request.ranks[next.index].container);
  return tried == untried_.end() || !tried->second;
}

namespace {

/// The order for the rank's entry process.
EntryOrder entry_order(const RankBatch& shared, const wire::StartRank& rank, const Environment& own,
                       const OpenFileLimit& open_files, bool has_pmi) {
  const wire::StartRanks& batch = shared.request;
  const wire::StartCommand& command = batch.commands[rank.command];
  EntryOrder order{command.argv,
                   command.is_own_shell,
                   has_pmi,
                   rank.terminal,
                   batch.workdir,
                   batch.defaults,
                   shared.contained_base.variables(),
                   rank.cpus,
                   open_files.soft,
                   open_files.hard};
  for (const auto& [name, value] : own) order.variables.insert_or_assign(name, value);
  // An image has no name for our user id, so getpass.getuser() of Python would fail without these.
  for (const char* name : {"USER", "LOGNAME"}) {
    const auto user = find_variable(environment_from_block(environ), "USER");
    if (user) order.defaults.emplace(name, *user);
  }
  return order;
}

}  // namespace

tl::expected<pid_t, StartFailure> RankService::start_contained(
    const std::shared_ptr<RankBatch>& shared, const wire::StartRank& rank) {
  const wire::StartContainer& container = *shared->container(rank);
  const wire::StartRanks& batch = shared->request;
  // The rank's terminal is made in the container (contained_started).
  auto pipes = make_pipes(rank.wants_stdin && !rank.terminal);
  if (!pipes) return tl::unexpected(pipes.error());
  Environment own = rank.env;
  auto pmi = mpi_.connect(rank.rank, shared->contained_base.variables(), own);
  if (!pmi) return tl::unexpected(pmi.error());
  const EntryOrder order = entry_order(*shared, rank, own, open_files_, pmi->valid());
  std::vector<UniqueFd> handed;
  handed.push_back(pipes->in.read ? std::move(pipes->in.read) : duplicate(null_.get()));
  handed.push_back(std::move(pipes->out.write));
  handed.push_back(std::move(pipes->err.write));
  if (pmi->valid()) handed.push_back(std::move(*pmi));
  if (const auto ready = containers_.expect(rank.rank, order, std::move(handed)); !ready) {
    return tl::unexpected(
        StartFailure{StartFailure::Step::resources, ready.error(), "memfd_create", ""});
  }
  release_ports(rank);

  auto contained = std::make_unique<RunningRank::Contained>();
  ExternalProcess::Request request{ContainerService::command(container, rank.rank),
                                   ContainerService::environment(container),
                                   batch.workdir,
                                   enclosure_.cgroup_fd(),
                                   {open_files_.soft, open_files_.hard}};
  auto process =
      ExternalProcess::start(loop_, request, [said = &contained->said](const std::string& bytes) {
        said->append(bytes);
        if (said->size() > kMostSaid) said->erase(0, said->size() - kMostSaid);
      });
  if (!process) return tl::unexpected(process.error());
  contained->runtime = std::move(*process);
  contained->container = rank.container;
  contained->out = std::move(pipes->out.read);
  contained->err = std::move(pipes->err.read);
  contained->in = std::move(pipes->in.write);
  contained->is_shown = rank.is_shown;
  const bool is_first = untried_.try_emplace(rank.container, rank.rank).second;
  const pid_t pid = contained->runtime->pid();
  RunningRank& running = watch_over({pid, pid, false, false}, shared, rank);
  running.contained = std::move(contained);
  if (is_first) report_slow_start(running, std::string(file_name(container.argv.front())), kSilent);
  return pid;
}

/// Reports regularly, because the runtime may take an hour to fetch an image, or hang.
void RankService::report_slow_start(RunningRank& rank, const std::string& runtime,
                                    std::chrono::milliseconds after) {
  auto& silence = rank.contained->silence;
  if (!silence) silence = std::make_unique<Timer>(loop_);
  silence->after(after, [this, &rank, runtime] {
    if (rank.contained->state != RunningRank::Contained::State::starting || rank.exited) return;
    const std::string line = last_line(rank.contained->said);
    channel_.send(wire::Notice{runtime + " is still starting the container of rank " +
                               std::to_string(rank.rank.value) +
                               (line.empty() ? "" : ": " + line)});
    report_slow_start(rank, runtime, kSilentAgain);
  });
}

void RankService::contained_started(RunningRank& rank, pid_t program, UniqueFd terminal) {
  RunningRank::Contained& contained = *rank.contained;
  if (contained.state != RunningRank::Contained::State::starting) return;
  contained.state = RunningRank::Contained::State::running;
  contained.inside = true;
  contained.silence.reset();
  rank.outer_pid = program;
  const bool has_terminal = terminal.valid();
  if (has_terminal) {
    contained.in = duplicate(terminal.get());
    contained.out = std::move(terminal);
  }
  pump_.add(rank.rank, Stream::out, std::move(contained.out), contained.is_shown);
  pump_.add(rank.rank, Stream::err, std::move(contained.err), contained.is_shown);
  if (rank.wants_stdin) stdin_.connect(attempt_, std::move(contained.in), has_terminal);
  channel_.send(wire::RanksStarted{attempt_, {{rank.rank, program, wall_now()}}});
  untried_[contained.container] = std::nullopt;
  if (!pending_.empty()) loop_.post([this] { start_some(); });
}

void RankService::contained_failed(RunningRank& rank, StartFailure failure) {
  RunningRank::Contained& contained = *rank.contained;
  if (contained.state != RunningRank::Contained::State::starting) return;
  contained.state = RunningRank::Contained::State::failed;
  rank.exited = true;
  channel_.send(wire::RankNotStarted{attempt_, rank.rank, std::move(failure), wall_now()});
  start_no_more();
}

void RankService::contained_left(RunningRank& rank) {
  rank.contained->inside = false;
  count_if_over(rank);
  if (rank.contained->runtime_ended) return;
  // The runtime ends when it notices the container's end. It never does if its conmon was killed.
  rank.abort_grace = std::make_unique<Timer>(loop_);
  rank.abort_grace->after(kLeaveLimit, [leader = rank.leader] { kill_tree(leader); });
}

void RankService::runtime_ended(RunningRank& rank, const ExitStatus& status, WallTime now) {
  RunningRank::Contained& contained = *rank.contained;
  if (contained.runtime_ended) return;
  containers_.catch_up(rank.rank);
  contained.runtime->read_rest();
  contained.runtime_ended = true;
  rank.abort_grace.reset();
  // A killed runtime leaves its container running.
  if (containers_.kill(rank.rank) && contained.inside) {
    rank.abort_grace = std::make_unique<Timer>(loop_);
    rank.abort_grace->after(kLeaveLimit, [this, &rank] { contained_left(rank); });
  }
  containers_.refuse(rank.rank);
  if (!rank.exited && contained.state == RunningRank::Contained::State::starting &&
      !rank.signalled) {
    std::string words = last_words(std::move(contained.said));
    if (words.empty())
      words = contained.runtime->told_to_end() ? "it was stopped" : describe(status);
    contained_failed(rank, {StartFailure::Step::container, 0, std::move(words), ""});
  }
  if (!rank.exited) tell_end(rank, status, now);
  count_if_over(rank);
}

// ---- started by mpirun

void RankService::await(const std::shared_ptr<RankBatch>& batch) {
  const std::string& folder = batch->request.join_folder;
  const auto opened = mpirun_.begin(attempt_, folder, batch->request.are_mpi, batch->request.world);
  if (!opened) {
    not_started(batch->request.ranks.front(), opened.error());
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
  mpirun_.start({request.argv,
                 base.variables(),
                 ranks.workdir,
                 enclosure_.cgroup_fd(),
                 {open_files_.soft, open_files_.hard}});
}

std::string RankService::start_joined(const Joining& joining, UniqueFd pmi) {
  const auto found = awaited_.find(joining.rank);
  if (closed_) return "the attempt is about to end";
  const std::uint32_t world = joint_batch_ ? joint_batch_->request.world : 0;
  if (std::string why = other_world(joining, world); world != 0 && !why.empty()) return why;
  if (found == awaited_.end()) {
    return "dlaunch did not plan this rank for this node, or the rank joined already; mpirun's "
           "hosts and mapping must be those of the plan";
  }
  const Pending next = found->second;
  awaited_.erase(found);
  const wire::StartRank& rank = next.batch->request.ranks[next.index];
  JoinContext context{joining.variables, joining.cpus, {}};
  context.pmi = mpirun_.pass(joining.rank, std::move(pmi), context.variables);
  auto pid = start_one(next.batch, rank, &context);
  if (pid) {
    channel_.send(wire::RanksStarted{attempt_, {{rank.rank, *pid, wall_now()}}});
  } else {
    not_started(rank, std::move(pid.error()));
    end_attempt_if_over();
  }
  return {};
}

/// mpirun ends all proxies when a rank has called MPI_Abort, or when mpirun itself fails. Then the
/// ranks' ends are a consequence, and mpirun's own end shows the cause.
void RankService::mpirun_left(Rank rank) {
  for (auto& [pid, running] : running_) {
    if (running->rank == rank && !running->exited) running->left = true;
  }
}

void RankService::mpirun_gave_up(Rank rank) {
  for (auto& [pid, running] : running_) {
    // A rank that was told to end has the job's grace.
    if (running->rank != rank || running->exited || running->signalled) continue;
    running->left = false;  // mpirun still runs, so this is a failure
    channel_.send(wire::Notice{"rank " + std::to_string(rank.value) +
                               ": mpirun ended its process for this rank; the rank is killed"});
    kill_tree(pid);
  }
}

}  // namespace dlaunch
