// Checks whether the next attempt could use a node: one that has come back in the middle of a run,
// or a spare. A node that lacks a GPU or a mounted file system must not end a run that goes on
// without it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launch/session/missing_prerequisites.h"
#include "launch/session/nodes.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"
#include "plan/make_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class ReturnCheck {
 public:
  struct Listener {
    std::function<void(NodeId, Attempt)> passed;
    /// `what`: without the node's name. `is_new`: differs from what the last check found.
    std::function<void(NodeId, std::string what, bool is_new)> failed;
  };

  ReturnCheck(EventLoop& loop, const JobSpec& spec, Nodes& nodes, Listener listener);

  /// `node` has reported its facts for `attempt`. It passes if a plan with it can be made and it
  /// has what its ranks would need; the latter is not checked for a job with a sync or a stage. The
  /// answer comes within timeouts.connect, perhaps from inside this call.
  void begin(const Node& node, Attempt attempt, const PlanContext& context);
  /// False: this was not the answer to a question of this check.
  bool on(NodeId node, const wire::PrerequisitesMissing& answer);
  /// Remembers what a node lacks. Returns whether that differs from what was last found.
  bool note_fault(NodeId node, const std::string& what);
  /// The node's session has ended, so the check is dropped without an answer.
  void node_lost(NodeId node) { checks_.erase(node); }
  /// Drops all checks in the same way.
  void cancel() { checks_.clear(); }

 private:
  struct Check {
    Check(EventLoop& loop, Attempt of, MissingPrerequisites asked)
        : attempt(of), missing(std::move(asked)), limit(loop) {}
    Attempt attempt;
    MissingPrerequisites missing;
    Timer limit;
  };
  void fail(NodeId node, std::string what);

  EventLoop& loop_;
  const JobSpec& spec_;
  Nodes& nodes_;
  Listener listener_;
  std::map<NodeId, std::unique_ptr<Check>> checks_;
  std::map<NodeId, std::string> faults_;  // as they were reported
};

}  // namespace dlaunch
