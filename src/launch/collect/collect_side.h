// The end of a run whose job has `collect`: fetches the files before the nodes are released.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "launch/collect/collect_run.h"
#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class CollectSide {
 public:
  CollectSide(EventLoop& loop, const RunOptions& options, Nodes& nodes, RunStore& store,
              Screen& screen);

  void tell(const Event& event);
  void on(NodeId node, wire::OneOf<wire::CollectAnswer> auto& answer) { run_.on(node, answer); }
  /// Collects from the nodes of the plan, for at most timeouts.collect, or until the user cancels
  /// the collection. Does nothing if the user wanted the run to end at once.
  void run(const LaunchPlan& plan);
  /// What run() has brought; nullopt: it was not called.
  [[nodiscard]] const std::optional<CollectReport>& report() const { return report_; }

 private:
  void end_by(MonotonicTime at, const char* why);
  void watch_time();
  void tell_report(const CollectReport& report);

  EventLoop& loop_;
  const RunOptions& options_;
  Nodes& nodes_;
  RunStore& store_;
  Screen& screen_;
  std::map<NodeId, std::string> lost_;  // lost nodes, with the reason
  int cancels_ = 0;
  std::optional<MonotonicTime> until_{};  // when the available time ends, and why
  const char* why_ = "";
  MonotonicTime began_{0};
  bool told_ = false;
  CollectRun run_;
  std::optional<CollectReport> report_;
};

}  // namespace dlaunch
