// The preparation of a run without the run: `plan`, `export mpirun`, `check`, `stage` and `collect`
// connect to the nodes of a job, hold the conversation of preparation.h with them, and let them go.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launch/collect/collect_settings.h"
#include "launch/session/node_clock.h"
#include "launch/session/preparation.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "plan/make_plan.h"
#include "wire/message.h"

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

/// `dlaunch collect`: connects to the nodes of the job and fetches what `settings` names. A node
/// that cannot be connected is a problem in the report; the others are asked anyway. Otherwise as
/// rehearse(). `show`: the line on a terminal; empty: none.
[[nodiscard]] Result<CollectReport> collect_from_nodes(
    const JobSpec& spec, const PlanContext& context,
    const std::function<CollectSettings(const std::vector<CollectNode>&)>& settings,
    std::function<void(std::string)> show);

/// `dlaunch stage --list` and `--clean`: connects to the nodes of the job and asks them, all at
/// once; `question.limit_ms` is the limit for each. The result is in the order of the hosts.
/// Otherwise as rehearse().
[[nodiscard]] Result<std::vector<StagedOnNode>> ask_for_staged(const JobSpec& spec,
                                                               const PlanContext& context,
                                                               const wire::SeeStaged& question);

}  // namespace dlaunch
