// From the facts of all nodes to a plan that they can carry out: tests where they can meet, makes
// the plan, copies the workdir if the job wants that, has each node check that what its ranks need
// exists, and has it start a PMIx server for MPI ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "launch/engine/run_request.h"
#include "launch/mpi/pmix_start.h"
#include "launch/session/missing_places.h"
#include "launch/session/nodes.h"
#include "launch/session/reach_check.h"
#include "launch/sync/workdir_sync.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"
#include "plan/make_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class AttemptPlanner {
 public:
  /// Called once for each begin(), perhaps from within it, unless a node that was asked is lost:
  /// that ends the attempt, or the run.
  using Done = std::function<void(Result<LaunchPlan>)>;
  struct Watchers {
    std::function<void(bool)> copying;              // begins (true); has succeeded (false)
    std::function<void(const SyncReport&)> synced;  // before `done`
    std::function<void(std::string)> show;          // the line on a terminal; empty: none
  };

  using Prepare = RunOptions::Prepare;

  AttemptPlanner(EventLoop& loop, const JobSpec& spec, Prepare prepare, Nodes& nodes, Done done,
                 Watchers watchers);

  /// Errors passed to `done`: those of Prepare, of the reach check, of make_plan(), of
  /// MissingPlaces; kNodeLost if nodes have not answered shortly before timeouts.connect has passed
  /// again, kPreflight if only their PMIx servers are missing then.
  void begin(PlanContext context);
  /// An answer to the reach check.
  void on(NodeId node, const wire::OneOf<wire::ReachAnswer> auto& answer) {
    reach_.on(node, answer);
  }
  void on(NodeId node, const wire::PlacesMissing& answer);
  void on(NodeId node, wire::OneOf<wire::SyncAnswer> auto& answer) {
    sync_.on(node, std::move(answer));
  }
  void on(NodeId node, const wire::PmixReady& answer);
  /// A later attempt has another agent there: everything is copied again.
  void node_lost(NodeId node);
  /// The run ends: nothing is sent any more.
  void cancel();

 private:
  void met(Result<Meeting> meeting);
  void make();
  [[nodiscard]] bool needs_sync(const LaunchPlan& plan) const;
  void sync_workdir(LaunchPlan plan);
  void synced(Result<SyncReport> report);
  void check(LaunchPlan plan);
  void ask_for_places(const LaunchPlan& plan);
  [[nodiscard]] std::string advice(const LaunchPlan& plan) const;
  void answered();
  void too_late();

  JobSpec spec_;
  Prepare prepare_;  // empty: the job is unchanged
  Nodes& nodes_;
  Done done_;
  PlanContext context_;
  Timer limit_;
  ReachCheck reach_;
  WorkdirSync sync_;
  Watchers watchers_;
  std::set<NodeId> synced_;
  std::optional<LaunchPlan> unsynced_;  // until the workdir is everywhere
  MissingPlaces missing_;
  PmixStart pmix_;
  // Questions that nodes have not answered yet, those of an earlier plan of the attempt included.
  std::map<NodeId, std::uint32_t> places_asked_;
  std::map<NodeId, std::uint32_t> pmix_asked_;
  std::optional<LaunchPlan> unchecked_;  // until the nodes have confirmed that nothing is missing
};

}  // namespace dlaunch
