// How MPICH learns which ranks are neighbours, and may share memory: the value of
// PMI_process_mapping.
#pragma once

#include <string>
#include <vector>

#include "model/rank_span.h"

namespace dlaunch::pmi {

/// "(vector,(0,2,4),(2,1,3))": 4 ranks on each of 2 nodes, from node 0 on, then 3 on node 2 (MPICH,
/// src/mpl/src/mpl_rankmap.c). Ranks must be those of 0 .. size - 1, each once. Nodes without ranks
/// get no number. Empty where it would be longer than what every client has room for: MPICH then
/// compares host names.
[[nodiscard]] std::string process_mapping(const std::vector<std::vector<RankSpan>>& nodes);

}  // namespace dlaunch::pmi
