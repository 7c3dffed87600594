// Answers the question where the ranks of this node stand. A side process takes the stacks, and
// is killed when its time is over. Threads of the agent that read memory for it
// (os/memory_broker.h) may hang; they hold up neither the agent's main thread nor each other.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "node/side_process.h"
#include "node/stacks/brought_py_spy.h"
#include "node/stacks/stack_source.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's main thread.
class StackService {
 public:
  using Report = std::function<void(const wire::StacksTaken&)>;

  StackService(EventLoop& loop, Report report) : report_(std::move(report)), process_(loop) {}

  /// Answers once, at the latest when the question's limit is over. Abandons an earlier question
  /// without an answer. `ranks`: the process of each rank of the question.
  void take(const wire::TakeStacks& question, std::vector<RankProcess> ranks);
  [[nodiscard]] std::optional<wire::PySpyTaken> take(const wire::PySpyData& data) {
    return py_spy_.take(data);
  }
  /// The attempt is over: answers a question that is under way with that, and ends the side process
  /// with all that it has started. Returns these processes, which are not the job's.
  [[nodiscard]] std::set<pid_t> abandon();

 private:
  Report report_;
  SideProcess process_;
  BroughtPySpy py_spy_;
  wire::StacksTaken answer_;  // of the question under way, without stacks
};

}  // namespace dlaunch
