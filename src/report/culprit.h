// The rank that caused the failure. The supervisor knows when ranks ended; output may show that the
// first to end did so because another one was gone. Pure.
#pragma once

#include <map>
#include <vector>

#include "model/report.h"
#include "report/evidence.h"

namespace dlaunch {

/// What ranks said, as far as it was read.
using RankWords = std::map<Rank, Evidence>;

/// The ranks whose words name_culprit() needs beside those of the first failure; empty where these
/// settle it. At most 4096.
[[nodiscard]] std::vector<Rank> other_words_needed(const RunReport& report, const Evidence& first);

/// Corrects `report` of a failed rank. An error that says that a peer is gone (peer_loss.h) is no
/// cause where another rank has an error of its own (complete, even if dlaunch then stopped the
/// rank), failed at the same time, or had left with 0 before: `first`, `perhaps_first`, `cause` and
/// `exit_code` become those of that rank, or `left_early` names those that had left. Fills
/// `lost_peer` and `alike`.
void name_culprit(RunReport& report, const RankWords& words);

/// "all_reduce": the collective in which the program failed; empty: not known.
[[nodiscard]] std::string collective_of(const Evidence& evidence);

}  // namespace dlaunch
