// The local process behind a connection: the guardian if the launcher forked it, else the
// connector's program. The way it ends tells why the connection ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/connect/connector.h"
#include "model/job_spec.h"
#include "os/event_loop.h"

namespace dlaunch {

struct ConnectionEnd {
  LastWords words;               // empty text: the exit code says everything
  std::optional<int> exit_code;  // of the guardian, or of a remote command before it
};

/// Lives on the engine's one thread.
class ConnectionProcess {
 public:
  ConnectionProcess(EventLoop& loop, pid_t process, bool remote,
                    std::function<LastWords(int wait_status)> last_words);

  /// Calls `tell` once, at the end of the process or after `limit`. After `limit`, a remote process
  /// is killed, and the reason for its end stays unknown.
  void wait_for_end(Duration limit, std::function<void(const ConnectionEnd&)> tell);
  [[nodiscard]] const std::function<LastWords(int wait_status)>& last_words() const {
    return last_words_;
  }
  /// 0 once it has been reaped.
  [[nodiscard]] pid_t pid() const { return process_; }
  /// Kills the process if it is remote: ssh may wait long for a network that is gone.
  void kill();

 private:
  void ended(bool late);
  [[nodiscard]] ConnectionEnd reap();

  EventLoop& loop_;
  pid_t process_;
  bool remote_;
  std::function<LastWords(int)> last_words_;
  std::function<void(const ConnectionEnd&)> tell_;
  std::unique_ptr<WatchedFd> pidfd_;
  Timer limit_;
};

}  // namespace dlaunch
