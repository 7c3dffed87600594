#include "node/mpi/mpirun_service.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/wait.h>

#include "os/clock.h"

namespace dlaunch {

namespace {

// mpirun kills what it has started a second after SIGTERM. If mpirun has ended, the launcher has by
// then told us to end the rank.
constexpr std::chrono::seconds kGivenUp{5};

ExitStatus read_status(int status) {
  ExitStatus read;
  read.signaled = WIFSIGNALED(status);
  read.value = read.signaled ? WTERMSIG(status) : WEXITSTATUS(status);
  read.core_dumped = read.signaled && WCOREDUMP(status);
  return read;
}

}  // namespace

MpirunService::MpirunService(EventLoop& loop, AgentChannel& channel, Progress& progress)
    : loop_(loop),
      channel_(channel),
      progress_(progress),
      listener_(loop, {.on_joined =
                           [this](const Joining& joining, UniqueFd pmi) {
                             return callbacks_.joining.on_joined(joining, std::move(pmi));
                           },
                       .on_left = [this](Rank rank) { left(rank); }}),
      relay_(loop) {}

MpirunService::~MpirunService() = default;

tl::expected<void, StartFailure> MpirunService::begin(Attempt attempt, const std::string& folder,
                                                      bool are_mpi, std::uint32_t world) {
  if (listener_.is_open()) return {};
  end_daemons(std::chrono::seconds(1));  // of an earlier attempt
  attempt_ = attempt;
  are_mpi_ = are_mpi;
  world_ = world;
  relay_.clear();
  left_.clear();
  process_.reset();
  ended_ = false;
  auto opened = listener_.open(folder);
  if (opened) remember_folder(folder);
  return opened;
}

void MpirunService::remember_folder(const std::string& folder) {
  const std::size_t size = std::min(folder.size(), progress_.join_folder.size() - 1);
  folder.copy(progress_.join_folder.data(), size);
  progress_.join_folder[size] = '\0';
}

void MpirunService::start(const ExternalProcess::Request& request) {
  auto process = ExternalProcess::start(loop_, request, [this](std::string bytes) {
    channel_.send(wire::MpirunOutput{attempt_, std::move(bytes)});
  });
  if (process) {
    process_ = std::move(*process);
    return;
  }
  channel_.send(wire::MpirunOutput{attempt_, describe(process.error()) + '\n'});
  tell_end({false, process.error().code()}, wall_now());
}

bool MpirunService::reap(WallTime now) {
  if (!running()) return false;
  int status = 0;
  pid_t pid = 0;
  do {
    pid = ::waitpid(process_->pid(), &status, WNOHANG | __WALL);
  } while (pid < 0 && errno == EINTR);
  return pid > 0 && was_reaped(pid, read_status(status), now);
}

bool MpirunService::was_reaped(pid_t pid, const ExitStatus& status, WallTime at) {
  if (!running() || pid != process_->pid()) return false;
  ended_ = true;
  process_->read_rest();
  tell_end(status, at);
  return true;
}

void MpirunService::tell_end(const ExitStatus& status, WallTime at) {
  channel_.send(
      wire::MpirunEnded{attempt_, status, at, process_ != nullptr && process_->told_to_end()});
}

void MpirunService::terminate() {
  if (running()) process_->terminate();
}

void MpirunService::expect_end() {
  if (running()) process_->expect_end();
}

UniqueFd MpirunService::pass(Rank rank, UniqueFd pmi, Environment& variables) {
  return are_mpi_ ? relay_.pass(rank, std::move(pmi), variables) : std::move(pmi);
}

/// Like MpiService::judge(), but from the relayed traffic. mpirun itself checks MPI_Finalize.
void MpirunService::judge(Rank rank, ExitStatus& status) {
  if (!are_mpi_) return;
  if (const auto code = relay_.aborted(rank)) {
    status = ExitStatus();
    status.value = *code & 0xff;
    status.mpi = MpiEnd::aborted;
  } else if (status.ok() && relay_.has_met(rank) == false) {
    status.mpi = MpiEnd::never_connected;
  } else if (const auto world = relay_.other_world(rank, world_); status.ok() && world) {
    status.mpi = MpiEnd::other_world;
    status.mpi_world = *world;
  }
}

void MpirunService::rank_ended(Rank rank, const ExitStatus& status) {
  left_.erase(rank);
  // Only the exit status counts here: mpirun need not know that the rank never connected
  // (mpi.init).
  if (!status.signaled && status.value == 0) listener_.answer(rank, {ExitStatus(), ""});
}

void MpirunService::left(Rank rank) {
  if (!listener_.is_open()) return;  // the attempt is over
  callbacks_.joining.on_left(rank);
  auto& timer = left_[rank];
  timer = std::make_unique<Timer>(loop_);
  timer->after(kGivenUp, [this, rank] { callbacks_.on_given_up(rank); });
}

void MpirunService::end() {
  left_.clear();
  listener_.close();
  relay_.clear();
}

void MpirunService::end_daemons(std::chrono::milliseconds grace) {
  listener_.end_launchers(grace);
  listener_.remove();
  progress_.join_folder.front() = '\0';
}

}  // namespace dlaunch
