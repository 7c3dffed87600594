#include "node/unpack/unpacker.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node/unpack/arriving_file.h"
#include "node/unpack/unpack_main.h"
#include "os/containment.h"
#include "os/process_identity.h"
#include "os/spawn.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostSaid = 8192;

Result<pid_t> execute(const UnpackOrder& order, std::uint64_t size, int archive, int output,
                      int arrived) {
  const Program own{{"/proc/self/exe"}, "dlaunch", ""};
  const char* const argv[] = {"dlaunch", "agent", "--unpack", nullptr};
  const std::vector<std::string> environment =
      environment_entries({{kUnpackFolder, order.parent},
                           {kUnpackName, order.name},
                           {kUnpackSize, std::to_string(size)},
                           {kUnpackTime, std::to_string(order.mtime)}});
  const std::vector<const char*> envp = argv_pointers(environment);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  SpawnRequest request;
  request.program = &own;
  request.argv = argv;
  request.envp = envp.data();
  request.workdir = "/";
  request.stdin_fd = archive;
  request.stdout_fd = output;
  request.stderr_fd = null.get();
  request.extra_fd = arrived;
  request.extra_fd_number = kArrivedFd;
  const auto spawned = spawn(request);
  if (!spawned)
    return fail_errno(exit_code::kPreflight, "cannot be unpacked", spawned.error().error_number);
  return spawned->pid;
}

}  // namespace

Result<std::unique_ptr<Unpacker>> Unpacker::start(EventLoop& loop, const UnpackOrder& order,
                                                  const UniqueFd& archive, std::uint64_t size,
                                                  std::function<void()> heard) {
  auto output = make_pipe();
  UniqueFd arrived(::eventfd(0, EFD_CLOEXEC));
  if (!output || !arrived)
    return fail_errno(exit_code::kPreflight, "cannot be unpacked", output ? errno : output.error());
  const auto pid = execute(order, size, archive.get(), output->write.get(), arrived.get());
  if (!pid) return tl::unexpected(pid.error());
  return std::unique_ptr<Unpacker>(new Unpacker(loop, std::move(output->read), std::move(arrived),
                                                UniqueFd(open_pidfd(*pid)), size,
                                                std::move(heard)));
}

Unpacker::Unpacker(EventLoop& loop, UniqueFd output, UniqueFd arrived, UniqueFd process,
                   std::uint64_t size, std::function<void()> heard)
    : output_(loop, std::move(output)),
      arrived_(std::move(arrived)),
      process_(std::move(process)),
      size_(size),
      heard_(std::move(heard)) {
  watch();
}

Unpacker::~Unpacker() {
  if (!is_over() && process_) static_cast<void>(signal_process(process_.get(), SIGKILL));
}

void Unpacker::arrived(std::uint64_t bytes) {
  const std::uint64_t more = bytes - std::exchange(told_, bytes);
  // Never blocks: an eventfd counts to 2^64 - 2.
  if (more > 0) static_cast<void>(::write(arrived_.get(), &more, sizeof more));
}

void Unpacker::give_up() {
  if (told_ <= size_) arrived(kGiveUp);
}

void Unpacker::watch() {
  output_.on_readable([this] { read(); });
}

void Unpacker::read() {
  char bytes[4096];
  const ssize_t n = ::read(output_.get(), bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return watch();
  if (n > 0) {
    std::string more(bytes, static_cast<std::size_t>(n));
    // Signs come only before the process's last message, which may contain dots.
    const std::size_t signs =
        said_.empty() ? std::min(more.find_first_not_of(kUnpackSign), more.size()) : 0;
    signs_ += signs;
    said_.append(more, signs, kMostSaid - std::min(said_.size(), kMostSaid));
    watch();
  } else {
    end();
  }
  heard_();
}

void Unpacker::end() {
  Outcome outcome{"cannot be unpacked: the unpacking process was killed or failed"};
  if (said_.starts_with(kNotUnpacked)) {
    outcome.problem = said_.substr(1);
  } else if (said_.starts_with(kUnpacked)) {
    outcome = {"", number_of<std::uint64_t>(said_.substr(1)).value_or(0)};
  }
  outcome_ = std::move(outcome);
}

}  // namespace dlaunch
