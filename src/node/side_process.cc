#include "node/side_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

#include "os/descriptors.h"
#include "os/write_all.h"

namespace dlaunch {

SideProcess::~SideProcess() {
  end();
}

void SideProcess::begin(Work work, std::chrono::milliseconds limit, Done done, int kept) {
  end();
  received_.clear();
  done_ = std::move(done);
  auto pipe = make_pipe();
  if (!pipe) return finish(fail(exit_code::kInternal, "pipe: " + errno_text(pipe.error())));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return finish(fail(exit_code::kInternal, "fork: " + errno_text(errno)));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // The child must not keep the agent's connection open.
    close_all_but({pipe->write.get(), kept});
    static_cast<void>(write_all(pipe->write.get(), work()));
    ::_exit(0);
  }
  process_ = pid;
  answer_ = std::make_unique<WatchedFd>(loop_, std::move(pipe->read));
  answer_->on_readable([this] { read_answer(); });
  limit_.after(limit, [this] { finish(fail(exit_code::kTimeLimit, "no answer in time")); });
}

void SideProcess::cancel() {
  end();
  done_ = nullptr;
}

void SideProcess::read_answer() {
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t n = ::read(answer_->get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return answer_->on_readable([this] { read_answer(); });
    if (n <= 0 || received_.size() > kMost) break;
    received_.append(bytes.data(), static_cast<std::size_t>(n));
  }
  process_ = -1;  // it has ended, or soon will: the agent reaps it
  if (received_.empty())
    return finish(fail(exit_code::kInternal, "the checking process ended without an answer"));
  finish(std::move(received_));
}

void SideProcess::finish(Result<std::string> said) {
  end();
  const Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(said));
}

/// Only the process holds the write end, so it lives as long as that is open. SIGKILL does not end
/// one that hangs in the kernel; the code that ends the agent's descendants handles that.
void SideProcess::end() {
  answer_.reset();
  limit_.cancel();
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  process_ = -1;
}

}  // namespace dlaunch
