// `dlaunch stop --checkpoint`: ranks that write a checkpoint on a signal and go on
// (checkpoint.signal) get that signal, and the run is stopped once a new checkpoint is complete.
// Ranks that write one before they end need only the stop signal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "launch/engine/run_request.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "model/question.h"
#include "os/event_loop.h"
#include "report/checkpoints.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class CheckpointStop {
 public:
  /// Stops the run as `dlaunch stop` does.
  using Stop = std::function<void()>;
  CheckpointStop(EventLoop& loop, const RunOptions& options, Nodes& nodes, Screen& screen, Stop stop)
      : options_(options),
        nodes_(nodes),
        screen_(screen),
        stop_(std::move(stop)),
        next_(loop),
        limit_(loop) {}

  /// The ranks of this plan were told to start. Null: they have ended, and a restart follows. A run
  /// that waits for a checkpoint is then stopped before the restart.
  void set_plan(const LaunchPlan* plan);
  /// Errors: kUsage: the job has no checkpoint.path.
  [[nodiscard]] Result<StopReply> begin();
  void on(NodeId node, const wire::CheckpointsSeen& seen);
  void tell(const Event& event);
  /// The run ends.
  void end();

 private:
  void ask();
  void judge();
  void stop(const std::string& why);

  const RunOptions& options_;
  Nodes& nodes_;
  Screen& screen_;
  const Stop stop_;
  Timer next_;
  Timer limit_;
  const LaunchPlan* plan_ = nullptr;
  bool waits_ = false;             // for a checkpoint
  std::uint32_t round_ = 0;        // of the latest question
  std::set<NodeId> awaited_;       // the nodes that have not answered that question
  CheckpointsOfNodes now_;
  std::optional<CheckpointsOfNodes> before_;  // when the ranks got the signal
  CheckpointsOfNodes previous_;
};

}  // namespace dlaunch
