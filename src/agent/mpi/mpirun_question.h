// Which mpirun is on this node.
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
class MpirunQuestion {
 public:
  /// As NodeFacts::mpirun and mpirun_version.
  struct Answer {
    std::string program;
    std::string version;
  };
  explicit MpirunQuestion(EventLoop& loop) : loop_(loop) {}

  /// The first of the request's names that is found is asked for its `--version`, for at most 5 s.
  /// Calls `done` once, at once where there is nothing to ask, unless another request comes before.
  /// `login`: the agent's own environment.
  void ask(const wire::FactsRequest& request, const Environment& login,
           std::function<void(const Answer&)> done);

 private:
  EventLoop& loop_;
  std::unique_ptr<RunningProgram> running_;
};

}  // namespace dlaunch
