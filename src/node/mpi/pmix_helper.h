// An agent's dlaunch-pmix process: starts it from the bytes that dlaunch carries, exchanges
// messages with it over a socket, and notices its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "node/pmix/helper_protocol.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the agent's one thread. RankService reaps the process with the agent's other children.
class PmixHelper {
 public:
  struct Callbacks {
    std::function<void(pmix::HelperMessage)> on_message;
    /// The process has ended, perhaps killed for a malformed message, and can be reaped. Called
    /// once. `said`: the tail of its stderr.
    std::function<void(std::string said)> on_end;
  };

  /// Errors: exit_code::kPreflight if dlaunch was built without it or it cannot be executed,
  /// kInternal if there can be no socket.
  [[nodiscard]] static Result<std::unique_ptr<PmixHelper>> start(EventLoop& loop,
                                                                 Callbacks callbacks);
  ~PmixHelper();
  PmixHelper(const PmixHelper&) = delete;
  PmixHelper& operator=(const PmixHelper&) = delete;

  void send(const pmix::HelperMessage& message);
  /// Handles what the process has written so far; calls on_message.
  void catch_up();
  /// Sends SIGKILL; on_end follows.
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
  WatchedFd process_;  // a pidfd
  pmix::HelperReader reader_;
  std::string said_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool write_pending_ = false;
  bool ended_ = false;
};

}  // namespace dlaunch
