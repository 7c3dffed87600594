// Finds the rank that caused a failure. The supervisor only knows when ranks ended. Their output
// may show that the first to end did so because another rank was gone. Pure.
#pragma once

#include <map>
#include <vector>

#include "model/report.h"
#include "report/evidence.h"

namespace dlaunch {

/// The evidence in the output of those ranks whose output was read.
using RankEvidence = std::map<Rank, Evidence>;

/// The ranks, at most 4096, whose output name_culprit() needs in addition to that of the first
/// failure; empty if `first` is enough.
[[nodiscard]] std::vector<Rank> other_evidence_needed(const RunReport& report,
                                                      const Evidence& first);

/// Corrects the outcome of a run in which a rank failed. An error that says that a peer is gone
/// (known_causes.h) is not the cause if a rank without such an error has failed, or had exited with
/// 0 before. Preferred is a rank with an error of its own that was complete before dlaunch stopped
/// it; culprit.cc has the whole order. Then `first`, `perhaps_first`, `cause` and `exit_code`
/// become those of that rank, or `left_early` names the ranks that had exited. Fills `lost_peer`
/// and `alike`.
void name_culprit(RunReport& report, const RankEvidence& evidence);

/// "all_reduce": the collective in which the program failed; empty: unknown.
[[nodiscard]] std::string collective_of(const Evidence& evidence);

}  // namespace dlaunch
