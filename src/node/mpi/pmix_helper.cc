#include "node/mpi/pmix_helper.h"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/environment.h"
#include "node/mpi/pmix_program.h"
#include "os/containment.h"
#include "os/memory_program.h"
#include "os/process_identity.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostSaid = 2048;

tl::unexpected<Error> cannot(const std::string& why) {
  return fail(exit_code::kPreflight, std::string(kPmixProgram) + " cannot run: " + why);
}

Result<pid_t> execute(const UniqueFd& program, int socket, int errors) {
  const Program file{{path_of(program)}, kPmixProgram, ""};
  const std::vector<std::string> environment = pmix_environment();
  const std::vector<const char*> envp = argv_pointers(environment);
  const char* const argv[] = {kPmixProgram, nullptr};
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  SpawnRequest request;
  request.program = &file;
  request.argv = argv;
  request.envp = envp.data();
  request.workdir = "/";
  request.stdin_fd = socket;
  request.stdout_fd = null.get();
  request.stderr_fd = errors;
  const auto spawned = spawn(request);
  if (!spawned) return cannot(errno_text(spawned.error().error_number));
  return spawned->pid;
}

}  // namespace

Result<std::unique_ptr<PmixHelper>> PmixHelper::start(EventLoop& loop, Callbacks callbacks) {
  auto program = pmix_program();
  if (!program) return tl::unexpected(program.error());
  auto sockets = make_socket_pair(SOCK_STREAM);
  if (!sockets) return tl::unexpected(sockets.error());
  auto errors = make_pipe();
  if (!errors) return cannot(errno_text(errors.error()));
  const auto pid = execute(*program, sockets->second.get(), errors->write.get());
  if (!pid) return tl::unexpected(pid.error());
  return std::unique_ptr<PmixHelper>(new PmixHelper(
      loop, std::move(callbacks), std::move(sockets->first), std::move(errors->read), *pid));
}

PmixHelper::PmixHelper(EventLoop& loop, Callbacks callbacks, UniqueFd socket, UniqueFd errors,
                       pid_t pid)
    : callbacks_(std::move(callbacks)),
      socket_(loop, std::move(socket)),
      errors_(loop, std::move(errors)),
      pid_(pid),
      process_(loop, UniqueFd(open_pidfd(pid))) {
  watch();
  watch_errors();
}

PmixHelper::~PmixHelper() {
  kill();
}

void PmixHelper::kill() {
  if (process_.get() >= 0) (void)signal_process(process_.get(), SIGKILL);
}

void PmixHelper::watch() {
  socket_.on_readable([this] {
    if (read_some()) watch();
  });
}

void PmixHelper::watch_errors() {
  errors_.on_readable([this] {
    if (read_errors()) watch_errors();
  });
}

void PmixHelper::catch_up() {
  if (!ended_) (void)read_some();
}

/// Reads everything that has arrived. False: the connection has ended.
bool PmixHelper::read_some() {
  char bytes[65536];
  while (!ended_) {
    const ssize_t n = ::read(socket_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) {
      end();
      return false;
    }
    reader_.feed(std::string_view(bytes, static_cast<std::size_t>(n)));
    while (!ended_) {
      auto message = reader_.next();
      if (!message) {
        said_ = message.error().message;
        end();
        return false;
      }
      if (!*message) break;
      callbacks_.on_message(std::move(**message));
    }
  }
  return false;
}

bool PmixHelper::read_errors() {
  char bytes[4096];
  while (true) {
    const ssize_t n = ::read(errors_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    said_.append(bytes, static_cast<std::size_t>(n));
    if (said_.size() > kMostSaid) said_.erase(0, said_.size() - kMostSaid);
  }
}

void PmixHelper::send(const pmix::HelperMessage& message) {
  if (ended_) return;
  sending_ += pmix::encode(message);
  if (!write_pending_) flush();
}

void PmixHelper::flush() {
  while (sent_ < sending_.size()) {
    const ssize_t n =
        ::send(socket_.get(), sending_.data() + sent_, sending_.size() - sent_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      write_pending_ = true;
      return socket_.on_writable([this] {
        write_pending_ = false;
        flush();
      });
    }
    if (n < 0) break;  // read_some() will notice the end of the connection
    sent_ += static_cast<std::size_t>(n);
  }
  sending_.clear();
  sent_ = 0;
}

void PmixHelper::end() {
  if (std::exchange(ended_, true)) return;
  kill();
  if (errors_.get() >= 0) (void)read_errors();
  socket_.close();
  errors_.close();
  if (process_.get() < 0) return callbacks_.on_end(std::move(said_));
  process_.on_readable([this] { callbacks_.on_end(std::move(said_)); });
}

}  // namespace dlaunch
