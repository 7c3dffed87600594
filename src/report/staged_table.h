// What was staged on the nodes, and what `dlaunch stage --clean` has removed, as text and JSON. All
// texts of the nodes may have any bytes. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/stage.h"
#include "model/time.h"

namespace dlaunch {

/// A table in which nodes that have the same share a line, then a line for what is wrong. `local`:
/// a time in the zone of the reader.
[[nodiscard]] std::string staged_table(const std::vector<StagedOnNode>& nodes, WallTime now,
                                       const std::function<DateParts(WallTime)>& local);

/// A line for each target, and one with the sum. `is_narrowed`: only some targets were meant.
[[nodiscard]] std::string cleaned_text(const std::vector<StagedOnNode>& nodes, bool is_narrowed);

/// An object for each target of each node, and for each node of which not all is told:
/// docs/how-to/stage-data.md has the members. `cleaned`: of what was removed.
[[nodiscard]] std::string staged_json(const std::vector<StagedOnNode>& nodes, bool cleaned);

/// What is wrong on which nodes, a line each, for an error; empty: nothing is.
[[nodiscard]] std::string staged_problems(const std::vector<StagedOnNode>& nodes);

}  // namespace dlaunch
