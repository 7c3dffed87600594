// The part of RankService that is about ranks in containers: the runtime's process is the child
// that is watched, the program is somewhere else, and what becomes of it is told by who is in there
// with it (container_entry.h).
#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/ranks/rank_service.h"
#include "agent/ranks/running_rank.h"
#include "os/clock.h"
#include "os/leader.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostSaid = 16384;
constexpr std::size_t kMostShown = 2000;
constexpr std::size_t kMostOfALine = 200;
constexpr std::chrono::seconds kSilent{10};
constexpr std::chrono::minutes kSilentAgain{1};
// Who is in the container ends it in milliseconds, unless somebody has stopped it.
constexpr std::chrono::seconds kLeaveLimit{10};

/// The runtime's own words for people: the last lines of them, in which the reason is.
std::string last_words(std::string said) {
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r' || said.back() == ' '))
    said.pop_back();
  if (said.size() > kMostShown) said = "..." + said.substr(said.size() - kMostShown);
  return said;
}

/// What it said last of how far it is, without what moves a terminal's cursor.
std::string last_line(std::string_view said) {
  const auto is_end = [](char c) { return c == '\n' || c == '\r'; };
  while (!said.empty() && is_end(said.back())) said.remove_suffix(1);
  std::string line(std::find_if(said.rbegin(), said.rend(), is_end).base(), said.end());
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (line.size() > kMostOfALine) line = "..." + line.substr(line.size() - kMostOfALine);
  return line;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

void RankService::set_container_callbacks() {
  ContainerService::Callbacks callbacks;
  callbacks.on_started = [this](Rank rank, pid_t program) {
    if (RunningRank* running = find_contained(rank)) contained_started(*running, program);
  };
  callbacks.on_failed = [this](Rank rank, StartFailure failure) {
    if (RunningRank* running = find_contained(rank)) contained_failed(*running, std::move(failure));
  };
  callbacks.on_ended = [this](Rank rank, const ExitStatus& status) {
    RunningRank* running = find_contained(rank);
    if (running != nullptr && !running->exited) tell_end(*running, status, wall_now());
  };
  callbacks.on_left = [this](Rank rank) {
    if (RunningRank* running = find_contained(rank)) contained_left(*running);
  };
  containers_.set_callbacks(std::move(callbacks));
}

RunningRank* RankService::find_contained(Rank rank) {
  for (auto& [pid, running] : running_) {
    if (running->rank == rank && running->contained) return running.get();
  }
  return nullptr;
}

/// The first rank of a container tries alone.
bool RankService::may_start(const Pending& next) const {
  const auto tried = untried_.find(next.batch->request.ranks[next.index].container);
  return tried == untried_.end() || !tried->second;
}

namespace {

/// What the process in the container is to do.
EntryOrder entry_order(const RankBatch& shared, const wire::StartRank& rank, const Environment& own,
                       const OpenFileLimit& open_files, bool has_pmi) {
  const wire::StartRanks& batch = shared.request;
  const wire::StartCommand& command = batch.commands[rank.command];
  EntryOrder order{command.argv,  command.is_own_shell, has_pmi,
                   batch.workdir, batch.defaults,       shared.contained_base.variables(),
                   rank.cpus,     open_files.soft,      open_files.hard};
  for (const auto& [name, value] : own) order.variables.insert_or_assign(name, value);
  // What looks a user up by his number finds nobody in an image (getpass.getuser() of Python).
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
  auto pipes = make_pipes(rank.wants_stdin);
  if (!pipes) return tl::unexpected(pipes.error());
  Environment own = rank.env;
  auto pmi = mpi_.connect(rank.rank, shared->contained_base.variables(), own);
  if (!pmi) return tl::unexpected(pmi.error());
  const EntryOrder order = entry_order(*shared, rank, own, open_files_, pmi->valid());
  std::vector<UniqueFd> handed;
  handed.push_back(rank.wants_stdin ? std::move(pipes->in.read) : duplicate(null_.get()));
  handed.push_back(std::move(pipes->out.write));
  handed.push_back(std::move(pipes->err.write));
  if (pmi->valid()) handed.push_back(std::move(*pmi));
  if (const auto ready = containers_.expect(rank.rank, order, std::move(handed)); !ready) {
    return tl::unexpected(
        StartFailure{StartFailure::Step::resources, ready.error(), "memfd_create", ""});
  }
  release_ports(rank);

  auto contained = std::make_unique<RunningRank::Contained>();
  MpirunProcess::Request request{ContainerService::command(container, rank.rank),
                                 ContainerService::environment(container),
                                 batch.workdir,
                                 enclosure_.cgroup_fd(),
                                 {open_files_.soft, open_files_.hard}};
  auto process =
      MpirunProcess::start(loop_, request, [said = &contained->said](const std::string& bytes) {
        said->append(bytes);  // the reason is in the last of it
        if (said->size() > kMostSaid) said->erase(0, said->size() - kMostSaid);
      });
  if (!process) return tl::unexpected(process.error());
  contained->words = std::move(*process);
  contained->container = rank.container;
  contained->out = std::move(pipes->out.read);
  contained->err = std::move(pipes->err.read);
  contained->in = std::move(pipes->in.write);
  contained->is_shown = rank.is_shown;
  const bool is_first = untried_.try_emplace(rank.container, rank.rank).second;
  const pid_t pid = contained->words->pid();
  RunningRank& running = watch_over({pid, pid, false, false}, shared, rank);
  running.contained = std::move(contained);
  if (is_first)
    tell_while_it_comes(running, std::string(file_name(container.argv.front())), kSilent);
  return pid;
}

/// An image may be fetched for an hour, or for ever.
void RankService::tell_while_it_comes(RunningRank& rank, const std::string& runtime,
                                      std::chrono::milliseconds after) {
  auto& silence = rank.contained->silence;
  if (!silence) silence = std::make_unique<Timer>(loop_);
  silence->after(after, [this, &rank, runtime] {
    if (rank.contained->state != RunningRank::Contained::State::coming || rank.exited) return;
    const std::string line = last_line(rank.contained->said);
    channel_.send(wire::Notice{runtime + " is still starting the container of rank " +
                               std::to_string(rank.rank.value) +
                               (line.empty() ? "" : ": " + line)});
    tell_while_it_comes(rank, runtime, kSilentAgain);
  });
}

void RankService::contained_started(RunningRank& rank, pid_t program) {
  RunningRank::Contained& contained = *rank.contained;
  if (contained.state != RunningRank::Contained::State::coming) return;
  contained.state = RunningRank::Contained::State::runs;
  contained.inside = true;
  contained.silence.reset();
  rank.outer_pid = program;
  pump_.add(rank.rank, Stream::out, std::move(contained.out), contained.is_shown);
  pump_.add(rank.rank, Stream::err, std::move(contained.err), contained.is_shown);
  if (rank.wants_stdin) stdin_.connect(attempt_, std::move(contained.in));
  channel_.send(wire::RanksStarted{attempt_, {{rank.rank, program, wall_now()}}});
  untried_[contained.container] = std::nullopt;
  if (!pending_.empty()) loop_.post([this] { start_some(); });
}

void RankService::contained_failed(RunningRank& rank, StartFailure failure) {
  RunningRank::Contained& contained = *rank.contained;
  if (contained.state != RunningRank::Contained::State::coming) return;
  contained.state = RunningRank::Contained::State::failed;
  rank.exited = true;
  channel_.send(wire::RankNotStarted{attempt_, rank.rank, std::move(failure), wall_now()});
  start_no_more();
}

void RankService::contained_left(RunningRank& rank) {
  rank.contained->inside = false;
  count_if_over(rank);
  if (rank.contained->runtime_ended) return;
  // It ends when it has seen the container's end, which it does not when its conmon was killed.
  rank.abort_grace = std::make_unique<Timer>(loop_);
  rank.abort_grace->after(kLeaveLimit, [leader = rank.leader] { kill_tree(leader); });
}

void RankService::runtime_ended(RunningRank& rank, const ExitStatus& status, WallTime now) {
  RunningRank::Contained& contained = *rank.contained;
  if (contained.runtime_ended) return;
  containers_.catch_up(rank.rank);
  contained.words->read_rest();
  contained.runtime_ended = true;
  rank.abort_grace.reset();
  // A runtime that somebody has killed leaves its container alone.
  if (containers_.kill(rank.rank) && contained.inside) {
    rank.abort_grace = std::make_unique<Timer>(loop_);
    rank.abort_grace->after(kLeaveLimit, [this, &rank] { contained_left(rank); });
  }
  containers_.refuse(rank.rank);
  if (!rank.exited && contained.state == RunningRank::Contained::State::coming && !rank.signalled) {
    std::string words = last_words(std::move(contained.said));
    if (words.empty()) words = contained.words->told_to_end() ? "it was stopped" : describe(status);
    contained_failed(rank, {StartFailure::Step::container, 0, std::move(words), ""});
  }
  if (!rank.exited) tell_end(rank, status, now);
  count_if_over(rank);
}

}  // namespace dlaunch
