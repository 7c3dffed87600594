// Where `runs`, `logs` and `stop` look for runs.
#pragma once

#include <string>

#include "report/run_index.h"

namespace dlaunch {

/// `folder` empty: the current one. `logs.dir` of a job.yaml there that can be read, else runs/; a
/// folder with neither is taken for the folder of run folders itself. And the runs that were
/// started there but had to be kept in the state folder.
[[nodiscard]] Result<RunPlaces> run_places(const std::string& folder);

/// To stderr, one line each; at most a few.
void print_notes(const std::vector<std::string>& notes);

}  // namespace dlaunch
