// Turns the nodes' reports on checkpoints at the end of an attempt into an account of the attempt's
// checkpoints, for events.jsonl, the screen and the summary. Decides nothing.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "model/checkpoint.h"
#include "model/launch_plan.h"
#include "report/checkpoints.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class CheckpointSide {
 public:
  CheckpointSide(const RunOptions& options, const Nodes& nodes, RunStore& store, Screen& screen)
      : options_(options), nodes_(nodes), store_(store), screen_(screen) {}

  /// The ranks of the plan were told to start.
  void begin(const LaunchPlan& plan);
  /// From a node whose last rank has ended.
  void on(NodeId node, const wire::CheckpointsSeen& seen);
  /// No rank is left, and no further answer will arrive. `restarts`: another attempt follows, so
  /// the user is told now; otherwise the summary tells them.
  void end(bool restarts);
  [[nodiscard]] const CheckpointAccounts& accounts() const { return accounts_; }

 private:
  const RunOptions& options_;
  const Nodes& nodes_;
  RunStore& store_;
  Screen& screen_;
  std::optional<Attempt> running_;
  std::set<NodeId> awaited_;
  CheckpointTally tally_;
  CheckpointAccounts accounts_;
};

}  // namespace dlaunch
