// Where the ranks meet: MASTER_ADDR and MASTER_PORT.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// Whether ranks of this framework are given a master at all (tensorflow has TF_CONFIG, none has
/// nothing).
[[nodiscard]] bool has_master(Framework);

/// Node 0's address and a port there, for a plan over the first `nodes` nodes. The address is
/// 127.0.0.1 when there is one node, unless the job chose one. The port is the first that node 0's
/// agent holds, or the one that the job chose. Errors (exit_code::kPreflight): the chosen port is
/// taken, or no port is held.
[[nodiscard]] Result<MasterPlan> choose_master(const RendezvousSpec&, const Cluster&,
                                               std::size_t nodes);

/// The address of a node for ranks on `nodes` nodes.
[[nodiscard]] std::string address_of(const Node&, std::size_t nodes);

}  // namespace dlaunch
