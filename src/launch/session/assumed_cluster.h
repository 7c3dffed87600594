// A cluster that nobody was asked about, for `dlaunch plan --offline`.
#pragma once

#include "launch/connect/node_targets.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// The nodes of the host list with what it says of them, and facts that are not known (see
/// Cluster::is_assumed) but for ports, which stand for those that would be free. Pure. Errors:
/// those of node_targets().
[[nodiscard]] Result<Cluster> assumed_cluster(const JobSpec& spec, const OwnMachine& own);

}  // namespace dlaunch
