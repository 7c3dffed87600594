// Lists of runs as text and JSON. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/time.h"
#include "runs/prune_runs.h"
#include "runs/run_view.h"

namespace dlaunch {

/// One line per run, with at most 80 columns if the shortening of long values achieves that.
/// `local` converts a time to the reader's time zone. Today's runs show the time of day, older ones
/// the date.
[[nodiscard]] std::string runs_table(const std::vector<RunView>& runs, WallTime now,
                                     const std::function<DateParts(WallTime)>& local);

/// An array of objects; docs/reference/run-folder.md has the members.
[[nodiscard]] std::string runs_json(const std::vector<RunView>& runs);

/// A start time: "14:05" for today, "Nov 20" for this year, else "2025-11-20".
[[nodiscard]] std::string started_text(WallTime time, WallTime now,
                                       const std::function<DateParts(WallTime)>& local);

/// Says what was or would be removed, what is kept and why, and how much disk space is freed.
/// `all`: how the runs were chosen ("older than 30d").
[[nodiscard]] std::string pruning_text(const Pruning& pruning, const PruneRule& rule,
                                       const std::string& all);

/// An object; docs/reference/commands.md has the members.
[[nodiscard]] std::string pruning_json(const Pruning& pruning, const PruneRule& rule);

/// "12.4s", "3m12s", "2h05m", "3d04h": at most 6 columns up to 99 days.
[[nodiscard]] std::string short_duration(std::chrono::nanoseconds duration);

}  // namespace dlaunch
