// Where runs are kept, and which one a word means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/run_view.h"

namespace dlaunch {

struct RunPlaces {
  std::string base;        // the folder of run folders, as the user would type it
  std::string state_base;  // absolute; runs whose own place could not be written; empty: none
  std::string folder;      // absolute: of state_base, only runs that were started here are listed
};

struct FoundRuns {
  std::vector<RunView> runs;        // newest first
  std::vector<std::string> notes;   // folders that were skipped, and why
  bool more = false;                // there are older ones
  std::optional<Error> unreadable;  // a folder of run folders that is there
};

enum class RunsWanted {
  all,
  not_ended,  // live, or unknown from here; folders with a summary are not even read
};

/// The newest `most` runs. Folders whose names are no run ids are none of ours and are passed over.
[[nodiscard]] FoundRuns list_runs(const RunPlaces& places, std::size_t most,
                                  RunsWanted wanted = RunsWanted::all);

/// `word`: an id, the beginning (8 characters or more) or the end (3 or more) of just one, or the
/// path of a run folder or of something in it; empty: the newest run. Errors (exit_code::kUsage, or
/// kNoPermission: this user may not look) say what was meant and what to type.
[[nodiscard]] Result<RunView> find_run(const RunPlaces& places, const std::string& word);

}  // namespace dlaunch
