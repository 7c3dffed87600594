#include "cli/live_run.h"

#include "text/plain_text.h"

namespace dlaunch {

Result<RunView> only_live_run(const RunFolders& folders, const std::string& command) {
  constexpr std::size_t kShown = 8;
  FoundRuns found = list_runs(folders, kShown, RunsWanted::not_ended);
  if (found.runs.size() == 1) return std::move(found.runs.front());
  if (found.runs.empty() && found.unreadable) return tl::unexpected(*found.unreadable);
  if (found.runs.empty())
    return fail(exit_code::kUsage,
                "nothing is running in " + plain_line(folders.base) + "; see: dlaunch runs");
  std::string message = std::to_string(found.runs.size()) + (found.more ? " or more" : "") +
                        " runs are running; which one?";
  for (const RunView& run : found.runs)
    message += "\n  " + command + ' ' + run.id + "   " + plain_line(run.name);
  return fail(exit_code::kUsage, message);
}

}  // namespace dlaunch
