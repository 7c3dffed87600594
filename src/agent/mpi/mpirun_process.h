// mpirun, or another launcher of MPI programs, as a child of the agent of node 0: starts it, passes
// on what it prints, and ends it.
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

namespace dlaunch {

/// Lives on the agent's one thread. The process is reaped by whoever reaps the agent's children.
class MpirunProcess {
 public:
  /// Without NUL. At most wire::kMostMpirunOutput bytes in all; what comes after is read and thrown
  /// away.
  using Printed = std::function<void(std::string bytes)>;
  struct Request {
    std::vector<std::string> argv;  // at least one word
    Environment environment;        // all of it
    std::string workdir;
    int cgroup = -1;      // as SpawnRequest
    rlimit open_files{};  // RLIMIT_NOFILE: as many as it would have without us
  };

  /// In a session of its own, with /dev/null as stdin.
  [[nodiscard]] static tl::expected<std::unique_ptr<MpirunProcess>, StartFailure> start(
      EventLoop& loop, const Request& request, Printed printed);
  MpirunProcess(const MpirunProcess&) = delete;
  MpirunProcess& operator=(const MpirunProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// SIGTERM, once: it ends what it has started on other nodes, too.
  void terminate();
  /// Somebody else kills it.
  void expect_end() { told_to_end_ = true; }
  [[nodiscard]] bool told_to_end() const { return told_to_end_; }
  /// Takes what is in the pipe now: `printed` is called from inside.
  void read_rest();

 private:
  MpirunProcess(EventLoop& loop, UniqueFd output, pid_t pid, Printed printed);
  void wait();
  [[nodiscard]] bool read_some();

  WatchedFd output_;
  const pid_t pid_;
  Printed printed_;
  std::size_t passed_on_ = 0;
  bool told_to_end_ = false;
};

}  // namespace dlaunch
