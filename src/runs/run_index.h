// Lists the runs in a folder, and finds the run that a word, or a command without a word, refers
// to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/run_view.h"

namespace dlaunch {

struct RunFolders {
  std::string base;        // the folder of run folders, as the user would type it
  std::string state_base;  // absolute; has the runs that could not be written to `base`; "": none
  std::string folder;      // absolute; of state_base, only runs started in this folder are listed
};

/// Where `runs`, `logs` and `stop` look for the runs of `folder`; empty: the current folder. Run
/// folders are in `logs.dir` of a readable job.yaml in `folder`, else in its runs/; if it has
/// neither, `folder` itself is taken as the folder of run folders. Runs that were started in
/// `folder` but had to be kept in the state folder are included. Errors: kUsage: no such folder.
[[nodiscard]] Result<RunFolders> run_folders(const std::string& folder);

/// The word by which a command typed in the current folder finds a run: its id if the command looks
/// in the folder that contains `path`, else `path`, quoted.
[[nodiscard]] std::string word_for_run(const std::string& path);

struct FoundRuns {
  std::vector<RunView> runs;        // newest first
  std::vector<std::string> notes;   // folders that were skipped, and why
  bool more = false;                // there are older ones
  std::optional<Error> unreadable;  // a folder of run folders that cannot be read
};

enum class RunsWanted {
  all,
  not_ended,  // live, or not known on this machine; folders with a summary are not even read
};

/// The newest `most` runs. Folders whose names are not run ids are skipped.
[[nodiscard]] FoundRuns list_runs(const RunFolders& folders, std::size_t most,
                                  RunsWanted wanted = RunsWanted::all);

/// `word`: an id, the beginning (8 characters or more) or the end (3 or more) of exactly one id, or
/// the path of a run folder or of a file in it; empty: the newest run. Errors (exit_code::kUsage,
/// or kNoPermission: this user may not read it) say what to type instead.
[[nodiscard]] Result<RunView> find_run(const RunFolders& folders, const std::string& word);

/// The only run that has not ended. Errors: there is none; or there are several, and the message
/// has a line to type for each, with `command` ("dlaunch stop") before its id and `after` (" 0")
/// after it.
[[nodiscard]] Result<RunView> only_live_run(const RunFolders& folders, const std::string& command,
                                            const std::string& after = "");

}  // namespace dlaunch
