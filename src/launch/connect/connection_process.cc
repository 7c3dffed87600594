#include "launch/connect/connection_process.h"

#include <csignal>
#include <utility>

#include <sys/wait.h>

#include "model/signal_names.h"
#include "os/containment.h"

namespace dlaunch {

ConnectionProcess::ConnectionProcess(EventLoop& loop, pid_t process, bool remote,
                                     std::function<LastWords(int)> last_words)
    : loop_(loop),
      process_(process),
      remote_(remote),
      last_words_(std::move(last_words)),
      limit_(loop) {}

void ConnectionProcess::wait_for_end(Duration limit,
                                     std::function<void(const ConnectionEnd&)> tell) {
  tell_ = std::move(tell);
  UniqueFd pidfd(process_ > 0 ? open_pidfd(process_) : -1);
  // Never from inside the call.
  if (!pidfd) return limit_.after(Duration(0), [this] { ended(false); });
  pidfd_ = std::make_unique<WatchedFd>(loop_, std::move(pidfd));
  pidfd_->on_readable([this] { ended(false); });
  limit_.after(limit, [this] { ended(true); });
}

void ConnectionProcess::kill() {
  if (remote_ && process_ > 0) ::kill(-process_, SIGKILL);
}

void ConnectionProcess::ended(bool late) {
  if (late) kill();
  const ConnectionEnd end = late ? ConnectionEnd() : reap();
  if (!late) {
    // A session may have many connections; each closes its descriptors once it has ended.
    limit_.cancel();
    pidfd_.reset();
    last_words_ = nullptr;
  }
  if (const auto tell = std::exchange(tell_, nullptr)) tell(end);  // may destroy us
}

ConnectionEnd ConnectionProcess::reap() {
  int status = 0;
  const bool reaped = process_ > 0 && ::waitpid(process_, &status, WNOHANG) == process_;
  if (!reaped) return {};
  process_ = 0;
  if (last_words_) {
    if (LastWords words = last_words_(status); !words.text.empty()) return {words, std::nullopt};
  }
  if (WIFSIGNALED(status)) {
    const std::string who = remote_ ? "its connection" : "its guardian";
    return {{who + " was killed by " + signal_name(WTERMSIG(status))}, std::nullopt};
  }
  return {{}, WEXITSTATUS(status)};
}

}  // namespace dlaunch
