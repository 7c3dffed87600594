// A helper process of the agent for a question that may take long or hang: a file system, a
// driver, another vendor's program. The agent stops waiting for it after a limit.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class SideProcess {
 public:
  /// Runs in the process, which shares nothing with the agent but this function's copies.
  using Work = std::function<std::string()>;
  /// Called once, unless begin() or the destructor comes before. Errors: exit_code::kTimeLimit, and
  /// kInternal when no process can be started, or it ended without an answer.
  using Done = std::function<void(Result<std::string>)>;

  explicit SideProcess(EventLoop& loop) : loop_(loop), limit_(loop) {}
  ~SideProcess();
  SideProcess(const SideProcess&) = delete;
  SideProcess& operator=(const SideProcess&) = delete;

  /// Drops a question that is still open, without an answer. The answer is at most 1 MiB.
  void begin(Work work, std::chrono::milliseconds limit, Done done);
  /// Gives one that is under way up without an answer.
  void cancel();
  [[nodiscard]] bool is_under_way() const { return answer_ != nullptr; }

 private:
  void hear();
  void finish(Result<std::string> said);
  void end();

  EventLoop& loop_;
  Timer limit_;
  Done done_;
  std::unique_ptr<WatchedFd> answer_;
  std::string heard_;
  pid_t process_ = -1;
};

}  // namespace dlaunch
