// One ssh (or another program) as a child of ours: three pipes, the end of its stderr, and its wait
// status.
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

/// How much of the end of stderr is kept.
inline constexpr std::size_t kMostErrors = 16 * 1024;

/// Lives on the engine's one thread. The child leads its own process group and gets SIGKILL when
/// the engine dies.
class SshProcess : public std::enable_shared_from_this<SshProcess> {
 public:
  /// Error: the program does not exist, or the process could not be created.
  [[nodiscard]] static Result<std::shared_ptr<SshProcess>> start(
      EventLoop& loop, const std::vector<std::string>& argv,
      const std::vector<std::string>& environment);
  /// Kills the child, unless release() was called.
  ~SshProcess();
  SshProcess(const SshProcess&) = delete;
  SshProcess& operator=(const SshProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Once each.
  [[nodiscard]] UniqueFd take_stdin() { return std::move(stdin_); }
  [[nodiscard]] UniqueFd take_stdout() { return std::move(stdout_); }

  /// Calls back once the child has ended and was reaped, with its wait status; not after release().
  void on_end(std::function<void(int wait_status)> callback);
  /// SIGTERM, which lets it end its own helpers (ProxyCommand); `hard`: SIGKILL. To its group.
  void end(bool hard);
  /// The caller reaps the child from now on.
  void release();

  /// Its stderr so far, read without waiting.
  [[nodiscard]] const std::string& errors();

 private:
  SshProcess(EventLoop& loop, pid_t pid, UniqueFd in, UniqueFd out, UniqueFd errors);
  void watch_errors();
  /// False at the end of file.
  bool read_errors();
  void look_for_end();

  EventLoop& loop_;
  pid_t pid_;
  UniqueFd stdin_;
  UniqueFd stdout_;
  WatchedFd errors_;
  WatchedFd ended_;  // pidfd; closed where the kernel has none
  Timer poll_;       // then
  std::string tail_;
  std::function<void(int)> on_end_;
};

}  // namespace dlaunch
