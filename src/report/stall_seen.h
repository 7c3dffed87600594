// What dlaunch saw in a job that made no progress, for the console, the summary and summary.json.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job_spec.h"
#include "model/time.h"
#include "report/verdict.h"
#include "text/json_text.h"

namespace dlaunch {

struct StallSeen {
  Attempt attempt;
  WallTime at;         // of the second snapshot
  Duration silence{};  // how long the job had made no progress then
  Verdict verdict;
  bool has_resumed = false;  // the job made progress afterwards
};

/// The verdict as one statement of at most 12 lines. `is_again`: writes only the headline, because
/// the previous verdict of this silence was of the same kind and the user has seen its lines.
[[nodiscard]] std::string stall_text(const StallSeen& seen, std::size_t columns, bool is_again);

/// The last stall of the attempt, if the job has made no progress since; null: none.
[[nodiscard]] const StallSeen* lasting_stall(const std::vector<StallSeen>& all, Attempt attempt);

/// Writes the members of an object: attempt, silence_s, verdict, ranks, headline, lines.
void write_members(JsonText& json, const StallSeen& seen);

/// Writes the value of a member of summary.json.
void write_stalls(JsonText& json, const std::vector<StallSeen>& all, int indent);

}  // namespace dlaunch
