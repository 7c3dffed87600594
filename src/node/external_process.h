// An external program as a child of the agent: mpirun on node 0, or the container runtime of a
// rank. Starts it, passes on what it prints, and ends it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "model/environment.h"
#include "model/exit_status.h"
#include "os/event_loop.h"
#include "os/spawn.h"
#include "os/unique_fd.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread. RankService reaps the process with the agent's other children.
class ExternalProcess {
 public:
  /// Gets what the program prints, without NUL bytes, at most Request::most_printed in all; the
  /// rest is read and dropped.
  using Printed = std::function<void(std::string bytes)>;
  /// Called once, from the loop, when nobody can print any more; must not destroy this object.
  using Closed = std::function<void()>;
  struct Request {
    std::vector<std::string> argv;  // at least one
    Environment environment;        // complete
    std::string workdir;
    int cgroup = -1;      // see SpawnRequest
    rlimit open_files{};  // RLIMIT_NOFILE as it was before the agent raised its own
    std::size_t most_printed = wire::kMostMpirunOutput;
    std::string program{};  // the file; empty: what PATH has for argv[0]
  };

  /// Starts the program in a session of its own, with /dev/null as stdin.
  [[nodiscard]] static tl::expected<std::unique_ptr<ExternalProcess>, StartFailure> start(
      EventLoop& loop, const Request& request, Printed printed, Closed closed = nullptr);
  ExternalProcess(const ExternalProcess&) = delete;
  ExternalProcess& operator=(const ExternalProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Sends SIGTERM, at most once. mpirun then also ends what it has started on other nodes.
  void terminate();
  /// Other code will kill the process, so its end is not a failure.
  void expect_end() { told_to_end_ = true; }
  [[nodiscard]] bool told_to_end() const { return told_to_end_; }
  /// Reads what is in the pipe now, and calls `printed` with it.
  void read_rest();

 private:
  ExternalProcess(EventLoop& loop, UniqueFd output, pid_t pid, std::size_t most_printed,
                  Printed printed, Closed closed);
  void wait();
  [[nodiscard]] bool read_some();

  WatchedFd output_;
  const pid_t pid_;
  Printed printed_;
  Closed closed_;
  std::size_t may_pass_on_;
  bool told_to_end_ = false;
};

}  // namespace dlaunch
