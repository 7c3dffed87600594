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

/// `input`: for its stdin. Errors (kNodeLost): the program was not found, or it did not end within
/// `limit`; then it was killed, with everything left in its process group. Call only if no other
/// thread or event loop runs.
[[nodiscard]] Result<CommandOutput> command_output(const std::vector<std::string>& argv,
                                                   std::string_view input, Duration limit);
/// With an environment other than ours (NAME=VALUE each).
[[nodiscard]] Result<CommandOutput> command_output(const std::vector<std::string>& argv,
                                                   const std::vector<std::string>& environment,
                                                   std::string_view input, Duration limit);

/// A command on a running event loop. Destroying it kills the command and calls nothing.
class RunningCommand {
 public:
  using Done = std::function<void(Result<CommandOutput>)>;
  /// Calls `done` once, from the loop, with the result of command_output(); `done` may destroy
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
