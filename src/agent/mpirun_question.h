// Which mpirun is on this node.
#pragma once

#include "model/cluster.h"
#include "model/environment.h"
#include "wire/message.h"

namespace dlaunch {

/// Fills NodeFacts::mpirun and mpirun_version as the request wants it: the first of its names that
/// is found is asked for its `--version`. Blocks as long as that takes, at most 5 s. `login`: the
/// agent's own environment.
void find_mpirun(const wire::FactsRequest& request, const Environment& login, NodeFacts& facts);

}  // namespace dlaunch
