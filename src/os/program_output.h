// Runs programs for their output, such as `mpirun --version`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Standard output and standard error of `argv` (looked up in PATH) together, at most 64 KiB; its
/// exit code does not matter. Its stdin is /dev/null. Errors: exit_code::kNotFound or
/// kCannotExecute, and kTimeLimit if it has not ended within `limit`: then it is killed, and
/// abandoned if it still lives after 1 s. Waits only for this child. `environment`: the program's;
/// null: ours, whose PATH is used in any case.
[[nodiscard]] Result<std::string> program_output(const std::vector<std::string>& argv,
                                                 std::chrono::milliseconds limit,
                                                 const Environment* environment = nullptr);

/// The same without blocking. Destroying it kills the program and calls nothing.
class RunningProgram {
 public:
  using Done = std::function<void(Result<std::string>)>;
  /// Calls `done` once, from the loop, with what program_output() would return; `done` may destroy
  /// this. The owner of this process's children reaps the program. A program that has closed its
  /// output may continue.
  RunningProgram(EventLoop& loop, const std::vector<std::string>& argv,
                 std::chrono::milliseconds limit, const Environment* environment, Done done);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

 private:
  void wait();
  void read();
  void finish(Result<std::string> result);

  std::string name_;
  Done done_;
  std::unique_ptr<WatchedFd> output_;
  UniqueFd process_;  // a pidfd; invalid: not started, or done
  Timer limit_;
  std::string text_;
};

}  // namespace dlaunch
