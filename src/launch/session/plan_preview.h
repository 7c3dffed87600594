// The plan of a job without a run, for `dlaunch plan`, `dlaunch run --dry-run` and `dlaunch export
// mpirun`.
#pragma once

#include <string>

#include "launch/connect/node_targets.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

struct PlanPreview {
  Cluster cluster;
  LaunchPlan plan;
  /// For a job without hosts: what its ranks need and this machine lacks, each as a line.
  std::vector<std::string> missing{};
};

/// The nodes of the host list with what the list says about them, for `dlaunch plan --offline`.
/// Facts are unknown (see Cluster::is_assumed) except for ports, which stand for those that would
/// be free. Pure. Errors: those of node_targets().
[[nodiscard]] Result<Cluster> assumed_cluster(const JobSpec& spec, const OwnMachine& own);

/// Connects to the nodes for their facts, tests where they can meet, and makes the plan. On this
/// machine alone also checks what a run checks before it starts the ranks: other nodes may get
/// their files later. Must be
/// called before any thread exists.
[[nodiscard]] Result<PlanPreview> plan_by_facts(const JobSpec& spec, const PlanContext& context);

/// Like plan_by_facts(), or without connecting if `offline`; adds what a run would add to the plan
/// before it starts the ranks. Must be called before any thread exists.
[[nodiscard]] Result<PlanPreview> preview_plan(const JobSpec& spec,
                                               const std::string& current_folder, bool offline);

}  // namespace dlaunch
