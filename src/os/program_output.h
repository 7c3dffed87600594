// What a program prints, for questions like `mpirun --version`.
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

/// Standard output and standard error of `argv` (looked up in PATH), together, at most 64 KiB of
/// them; its exit code does not matter. Its stdin is /dev/null. Errors: exit_code::kNotFound or
/// kCannotExecute, and kTimeLimit when it has not ended within `limit`: then it is killed, and left
/// alone if that does not end it within 1 s more. Waits for this child alone. `environment`: its
/// own; null: ours, as PATH is in any case.
[[nodiscard]] Result<std::string> program_output(const std::vector<std::string>& argv,
                                                 std::chrono::milliseconds limit,
                                                 const Environment* environment = nullptr);

/// The same beside all else. Destroying it kills the program, and calls nobody.
class RunningProgram {
 public:
  using Done = std::function<void(Result<std::string>)>;
  /// Calls `done` once, from the loop, with what program_output() would return; `done` may destroy
  /// this. The program's end is for whoever reaps the children of this process. One that has
  /// closed its output is left to end by itself.
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
  UniqueFd process_;  // a pidfd; invalid: it has not begun
  Timer limit_;
  std::string text_;
};

}  // namespace dlaunch
