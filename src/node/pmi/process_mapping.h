// PMI_process_mapping, from which MPICH learns which ranks share a node, and so memory.
#pragma once

#include <string>
#include <vector>

#include "model/rank_span.h"

namespace dlaunch::pmi {

/// "(vector,(0,2,4),(2,1,3))": 4 ranks on each of 2 nodes from node 0 on, then 3 on node 2 (MPICH,
/// src/mpl/src/mpl_rankmap.c). The ranks must be 0 .. size - 1, each once; nodes without ranks are
/// not numbered. Empty if the text would be too long for some clients; MPICH then compares host
/// names.
[[nodiscard]] std::string process_mapping(const std::vector<std::vector<RankSpan>>& nodes);

}  // namespace dlaunch::pmi
