// A cluster without contact to its nodes, for `dlaunch plan --offline`.
#pragma once

#include "launch/connect/node_targets.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// The nodes of the host list with what it says about them. Facts are unknown (see
/// Cluster::is_assumed) except for ports, which stand for those that would be free. Pure. Errors:
/// those of node_targets().
[[nodiscard]] Result<Cluster> assumed_cluster(const JobSpec& spec, const OwnMachine& own);

}  // namespace dlaunch
