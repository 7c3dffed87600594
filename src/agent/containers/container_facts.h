// What a node has for containers.
#pragma once

#include "model/cluster.h"
#include "model/environment.h"
#include "wire/message.h"

namespace dlaunch {

/// Nothing happens where the request names no programs. `login`: the environment that they are
/// looked for in, as for mpirun.
void find_containers(const wire::FactsRequest& request, const Environment& login, NodeFacts& facts);

}  // namespace dlaunch
