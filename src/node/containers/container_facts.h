// Finds what a node offers for containers.
#pragma once

#include "model/cluster.h"
#include "model/environment.h"
#include "wire/message.h"

namespace dlaunch {

/// Does nothing if the request names no runtime. `login`: the environment whose PATH is searched.
void find_containers(const wire::FactsRequest& request, const Environment& login, NodeFacts& facts);

}  // namespace dlaunch
