// A program as a child of ours: pipes for its three streams, the tail of its stderr, and how it
// ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// At least this many bytes of the tail of stderr are kept.
inline constexpr std::size_t kMostErrors = 16 * 1024;

/// For use on its loop's thread only. The child leads its own session and gets SIGKILL when this
/// process dies.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
 public:
  /// `environment`: NAME=VALUE each; its PATH finds argv[0]. `joined`: stderr goes to stdout's
  /// pipe. Errors: kNotFound, kCannotExecute, kInternal (no descriptors, no process). Call only
  /// from the main thread.
  [[nodiscard]] static Result<std::shared_ptr<ChildProcess>> start(
      EventLoop& loop, const std::vector<std::string>& argv,
      const std::vector<std::string>& environment, bool joined = false);
  /// Kills the child, unless release() was called.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Each may be called once.
  [[nodiscard]] UniqueFd take_stdin() { return std::move(stdin_); }
  [[nodiscard]] UniqueFd take_stdout() { return std::move(stdout_); }

  /// Calls back once the child has ended and been reaped; not after release(). There is no wait
  /// status if another part of this process reaped the child, such as the owner of an agent's
  /// children.
  using Ended = std::function<void(std::optional<int> wait_status)>;
  void on_end(Ended callback);
  /// Sends SIGTERM to the child's process group, so that the child can end its helpers
  /// (ProxyCommand); `hard`: SIGKILL.
  void end(bool hard);
  /// The caller reaps the child from now on.
  void release();

  /// The tail of its stderr so far, read without waiting.
  [[nodiscard]] const std::string& errors();

 private:
  ChildProcess(EventLoop& loop, pid_t pid, UniqueFd in, UniqueFd out, UniqueFd errors);
  void watch_errors();
  /// False at the end of file.
  bool read_errors();
  void look_for_end();
  [[nodiscard]] bool is_ours() const;

  EventLoop& loop_;
  pid_t pid_;
  UniqueFd stdin_;
  UniqueFd stdout_;
  WatchedFd errors_;
  WatchedFd ended_;  // pidfd; closed if the kernel has no pidfds
  Timer poll_;       // used in that case
  std::string tail_;
  Ended on_end_;
};

}  // namespace dlaunch
