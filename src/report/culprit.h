// Finds the rank that caused a failure. The supervisor knows when ranks ended; their output may
// show that the first to end did so because another one was gone. Pure.
#pragma once

#include <map>
#include <vector>

#include "model/report.h"
#include "report/evidence.h"

namespace dlaunch {

/// The evidence in the output of ranks, as far as it was read.
using RankEvidence = std::map<Rank, Evidence>;

/// The ranks whose output name_culprit() needs besides that of the first failure; empty if `first`
/// settles it. At most 4096.
[[nodiscard]] std::vector<Rank> other_evidence_needed(const RunReport& report,
                                                      const Evidence& first);

/// Corrects the outcome of a run in which a rank failed. An error that says that a peer is gone
/// (known_causes.h) is not the cause if another rank has an error of its own (complete, even if
/// dlaunch then stopped the rank), failed at the same time, or exited with 0 before. Then `first`,
/// `perhaps_first`, `cause` and `exit_code` become those of that rank, or `left_early` names the
/// ranks that exited. Fills `lost_peer` and `alike`.
void name_culprit(RunReport& report, const RankEvidence& evidence);

/// "all_reduce": the collective in which the program failed; empty: unknown.
[[nodiscard]] std::string collective_of(const Evidence& evidence);

}  // namespace dlaunch
