// Runs programs for their output, such as `mpirun --version` or `squeue`.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/result.h"
#include "os/event_loop.h"

namespace dlaunch {

struct ProgramCall {
  std::vector<std::string> argv;
  std::chrono::milliseconds limit{};
  std::optional<Environment> environment{};  // its PATH finds argv[0]; none: our own environment
  std::string input{};                       // for its stdin; needs SIGPIPE to be blocked
  bool joined = false;                       // its stderr goes to `out`, in order
  std::size_t most_output = std::size_t{1} << 20;
};

struct ProgramOutput {
  /// As waitpid(2) returns it; none: the owner of this process's children, such as an agent, has
  /// reaped the program first.
  std::optional<int> wait_status;
  std::string out;     // its stdout, the first ProgramCall::most_output bytes
  std::string errors;  // the tail of its stderr, at least 16 KiB (kMostErrors)

  [[nodiscard]] bool succeeded() const { return wait_status == 0; }
};

/// A program run from an existing event loop. Destroying it kills the program and calls no
/// callback.
class RunningProgram {
 public:
  using Done = std::function<void(Result<ProgramOutput>)>;
  /// Calls `done` once, from the loop, when the program has ended and its output is closed. `done`
  /// may destroy this. Errors: those of ChildProcess::start(), and kTimeLimit if the program takes
  /// longer than the limit: it is then killed with its process group, and abandoned if it is still
  /// alive after 1 s, as when it hangs in a driver.
  RunningProgram(EventLoop& loop, ProgramCall call, Done done);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The same without an event loop: waits until `done` would be called. If there is an input,
/// SIGPIPE stays blocked afterwards. Call only from the main thread; reaps only this child.
[[nodiscard]] Result<ProgramOutput> run_program(ProgramCall call);

/// Both streams of a program whose exit code does not matter.
[[nodiscard]] Result<std::string> program_output(const std::vector<std::string>& argv,
                                                 std::chrono::milliseconds limit,
                                                 const Environment* environment = nullptr);

}  // namespace dlaunch
