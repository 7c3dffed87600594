// The rendezvous of the ranks: MASTER_ADDR and MASTER_PORT.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// Whether ranks of this framework get a master (tensorflow has TF_CONFIG, none has nothing).
[[nodiscard]] bool has_master(Framework);

/// The meeting of all nodes of the cluster: the probed one (Cluster::meeting), else the best
/// candidate, without a probe. On one node 127.0.0.1, unless the job chose an address. Errors: as
/// rendezvous_candidates() (plan/candidates.h).
[[nodiscard]] Result<Meeting> choose_meeting(const RendezvousSpec&, const Cluster&);

/// The meeting's address and a port on node 0: the first that its agent holds, or the one that the
/// job chose. Errors (exit_code::kPreflight): the chosen port is taken, or no port is held.
[[nodiscard]] Result<MasterPlan> choose_master(const RendezvousSpec&, const Cluster&,
                                               const Meeting&);

/// The address of a node for ranks on `nodes` nodes.
[[nodiscard]] std::string address_of(const Node&, std::size_t nodes);

}  // namespace dlaunch
