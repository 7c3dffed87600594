// Finds the mpirun of this node.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "model/environment.h"
#include "os/event_loop.h"
#include "os/program_output.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class MpirunProbe {
 public:
  /// See NodeFacts::mpirun and mpirun_version.
  struct Answer {
    std::string program;
    std::string version;
  };
  explicit MpirunProbe(EventLoop& loop) : loop_(loop) {}

  /// Runs the first program found among the request's names with `--version`, for at most 5 s.
  /// Calls `done` once; if there is nothing to run, from inside this call. If another request comes
  /// first, `done` is not called. `login`: the agent's own environment.
  void ask(const wire::FactsRequest& request, const Environment& login,
           std::function<void(const Answer&)> done);

 private:
  EventLoop& loop_;
  std::unique_ptr<RunningProgram> running_;
};

}  // namespace dlaunch
