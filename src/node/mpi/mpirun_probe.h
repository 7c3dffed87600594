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

  /// Asks the first program found among the request's names for its `--version`, at most 5 s. Calls
  /// `done` once, from inside this call if there is nothing to ask, and not at all if another
  /// request comes first. `login`: the agent's own environment.
  void ask(const wire::FactsRequest& request, const Environment& login,
           std::function<void(const Answer&)> done);

 private:
  EventLoop& loop_;
  std::unique_ptr<RunningProgram> running_;
};

}  // namespace dlaunch
