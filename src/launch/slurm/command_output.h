// Runs a command of the system, such as sbatch or squeue, to its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"
#include "os/event_loop.h"

namespace dlaunch {

struct CommandOutput {
  int wait_status = 0;  // waitpid(2)
  std::string out;      // the first 1 MiB
  std::string errors;   // the end of it
};

/// `input`: for its stdin. Errors (kNodeLost): there is no such program, or it has not ended within
/// `limit`, and was killed, with what it has left behind in its process group. To be called where
/// no other thread or event loop runs.
[[nodiscard]] Result<CommandOutput> command_output(const std::vector<std::string>& argv,
                                                   std::string_view input, Duration limit);
/// With another environment than ours (NAME=VALUE each).
[[nodiscard]] Result<CommandOutput> command_output(const std::vector<std::string>& argv,
                                                   const std::vector<std::string>& environment,
                                                   std::string_view input, Duration limit);

/// A command on an event loop that runs anyway. Destroying it kills the command and calls nobody.
class RunningCommand {
 public:
  using Done = std::function<void(Result<CommandOutput>)>;
  /// Calls `done` once, from the loop, with what command_output() would return; `done` may destroy
  /// this. `environment`: NAME=VALUE each.
  RunningCommand(EventLoop& loop, const std::vector<std::string>& argv,
                 const std::vector<std::string>& environment, std::string_view input,
                 Duration limit, Done done);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dlaunch
