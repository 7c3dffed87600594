// The process dlaunch-pmix of an agent: starts it from the bytes that dlaunch carries, talks to it
// over a socket, and notices its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "pmix/frames.h"

namespace dlaunch {

/// Lives on the agent's one thread. The process is reaped by whoever reaps the agent's children.
class PmixHelper {
 public:
  struct Callbacks {
    std::function<void(pmix::HelperMessage)> on_message;
    /// It has ended, after it had spoken nonsense perhaps, and can be reaped; once. `said`: the
    /// last it wrote to stderr.
    std::function<void(std::string said)> on_end;
  };

  /// Errors: exit_code::kPreflight, dlaunch was built without it, or it cannot be executed.
  [[nodiscard]] static Result<std::unique_ptr<PmixHelper>> start(EventLoop& loop,
                                                                 Callbacks callbacks);
  ~PmixHelper();
  PmixHelper(const PmixHelper&) = delete;
  PmixHelper& operator=(const PmixHelper&) = delete;

  void send(const pmix::HelperMessage& message);
  /// Takes what it has written so far: on_message is called from inside.
  void catch_up();
  /// SIGKILL; its end is told as ever.
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  PmixHelper(EventLoop& loop, Callbacks callbacks, UniqueFd socket, UniqueFd errors, pid_t pid);
  void watch();
  void watch_errors();
  bool read_some();
  bool read_errors();
  void flush();
  void end();

  Callbacks callbacks_;
  WatchedFd socket_;
  WatchedFd errors_;
  const pid_t pid_;
  WatchedFd process_;  // a pidfd: whoever reaps it does not ask us
  pmix::HelperReader reader_;
  std::string said_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool write_pending_ = false;
  bool ended_ = false;
};

}  // namespace dlaunch
