#include "launch/sync/workdir_settings.h"

#include "launch/session/prerequisite_question.h"
#include "os/clock.h"
#include "sync/rules.h"

namespace dlaunch {

WorkdirListSettings workdir_settings(const JobSpec& spec, const PlanContext& context,
                                     const std::string& workdir) {
  WorkdirListSettings settings;
  settings.root = workdir;
  const std::string& runs = spec.logs.dir;
  settings.run_base = runs.starts_with('/') ? runs : context.current_folder + '/' + runs;
  settings.home = find_variable(context.launcher_env, "HOME").value_or("");
  settings.most_files = sync::kMostFiles;
  settings.most_bytes = sync::kMostBytes;
  settings.exclude = spec.sync.exclude;
  return settings;
}

Result<std::optional<SyncExtent>> extent_within(Duration limit, WorkdirListSettings settings) {
  WorkdirLister lister(std::move(settings));
  const MonotonicTime end = monotonic_now() + limit;
  while (!lister.step()) {
    if (monotonic_now() >= end) return std::nullopt;
  }
  if (!lister.status()) return tl::unexpected(lister.status().error());
  return lister.extent();
}

Result<std::optional<SyncExtent>> sync_extent(const JobSpec& spec, const PlanContext& context,
                                              const LaunchPlan& plan) {
  if (!syncs_workdir(spec) || !has_remote_nodes(plan)) return std::nullopt;
  constexpr Duration kNoLimit = std::chrono::hours(24 * 365);
  return extent_within(kNoLimit, workdir_settings(spec, context, plan.workdir));
}

}  // namespace dlaunch
