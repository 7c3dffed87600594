// What was staged on the nodes, and what `dlaunch stage --clean` has removed, as text and JSON. The
// nodes' texts may have any bytes. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/stage.h"
#include "model/time.h"

namespace dlaunch {

/// A table in which nodes with equal values share a line. `local`: converts a time to the reader's
/// zone.
[[nodiscard]] std::string staged_table(const std::vector<StagedOnNode>& nodes, WallTime now,
                                       const std::function<DateParts(WallTime)>& local);

/// A line for each target, and a line with the sum. `is_narrowed`: the user has selected only some
/// targets.
[[nodiscard]] std::string cleaned_text(const std::vector<StagedOnNode>& nodes, bool is_narrowed);

/// An object for each target of each node, and for each node with a problem:
/// docs/how-to/stage-data.md has the members. `cleaned`: the objects describe what was removed.
[[nodiscard]] std::string staged_json(const std::vector<StagedOnNode>& nodes, bool cleaned);

/// What is wrong on which nodes, one line per problem, for an error; empty: nothing is wrong.
[[nodiscard]] std::string staged_problems(const std::vector<StagedOnNode>& nodes);

}  // namespace dlaunch
