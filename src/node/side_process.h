// A helper process of the agent for work that may take long or hang: a file system, a driver, a
// vendor's program. The agent stops waiting for it after a limit.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class SideProcess {
 public:
  /// Runs in the helper process, on copies of what it captures.
  using Work = std::function<std::string()>;
  /// Called once, unless begin(), cancel() or the destructor is called first. Errors:
  /// exit_code::kTimeLimit, and kInternal when no process can be started, or it ended without an
  /// answer.
  using Done = std::function<void(Result<std::string>)>;

  explicit SideProcess(EventLoop& loop) : loop_(loop), limit_(loop) {}
  ~SideProcess();
  SideProcess(const SideProcess&) = delete;
  SideProcess& operator=(const SideProcess&) = delete;

  /// Abandons earlier work without calling its `done`. The answer is at most 1 MiB. The work can
  /// use no open file of this process but `kept`.
  void begin(Work work, std::chrono::milliseconds limit, Done done, int kept = -1);
  /// Abandons the current work without calling its `done`.
  void cancel();
  [[nodiscard]] bool is_under_way() const { return answer_ != nullptr; }
  /// The process, while the work is under way.
  [[nodiscard]] std::optional<pid_t> pid() const {
    return process_ > 0 ? std::optional(process_) : std::nullopt;
  }

 private:
  void read_answer();
  void finish(Result<std::string> said);
  void end();

  EventLoop& loop_;
  Timer limit_;
  Done done_;
  std::unique_ptr<WatchedFd> answer_;
  std::string received_;
  pid_t process_ = -1;
};

}  // namespace dlaunch
