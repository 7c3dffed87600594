// The preparation of a run without the run: `plan`, `export mpirun`, `check` and `stage` connect to
// the nodes of a job, hold the conversation of preparation.h with them, and let them go.
#pragma once

#include <map>

#include "launch/session/node_clock.h"
#include "launch/session/preparation.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

struct Rehearsal {
  Prepared outcome;
  Cluster cluster;                     // the nodes of the job's hosts, in their order
  std::map<NodeId, NodeClock> clocks;  // of the nodes that have a session
};

/// `settings.up_to` is any step but `start`; `listener.done` is not called. Every wait has a limit.
/// Must be called before any thread exists. Errors: those of a host list, or of this machine; what
/// goes wrong with nodes is in the outcome.
[[nodiscard]] Result<Rehearsal> rehearse(const JobSpec& spec, const PlanContext& context,
                                         PrepareSettings settings, PrepareListener listener = {});

}  // namespace dlaunch
