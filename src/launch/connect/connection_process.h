// The local process behind a connection: the guardian itself where it was forked, else ssh or the
// like. Its end says why the connection ended.
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
  std::string words;             // of a connection that was cut: "ssh was killed by SIGTERM"
  std::optional<int> exit_code;  // of the guardian (or what else was the remote command)
};

/// Lives on the engine's one thread.
class ConnectionProcess {
 public:
  ConnectionProcess(EventLoop& loop, pid_t process, bool remote,
                    std::function<std::string(int wait_status)> last_words);

  /// Tells of its end once, within `limit`; then a remote one is killed, and what it would have
  /// said stays unknown.
  void wait_for_end(Duration limit, std::function<void(const ConnectionEnd&)> tell);
  /// 0 once it was reaped.
  [[nodiscard]] pid_t pid() const { return process_; }
  /// Kills a remote one: ssh may wait long for a network that is gone.
  void kill();

 private:
  void ended(bool late);
  [[nodiscard]] ConnectionEnd reap();

  EventLoop& loop_;
  pid_t process_;
  bool remote_;
  std::function<std::string(int)> last_words_;
  std::function<void(const ConnectionEnd&)> tell_;
  std::unique_ptr<WatchedFd> pidfd_;
  Timer limit_;
};

}  // namespace dlaunch
