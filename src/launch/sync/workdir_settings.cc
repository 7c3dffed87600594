#include "launch/sync/workdir_settings.h"

#include "launch/session/missing_places.h"
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
  return settings;
}

Result<std::optional<SyncExtent>> sync_extent(const JobSpec& spec, const PlanContext& context,
                                              const LaunchPlan& plan) {
  if (!spec.sync || !needs_place_check(plan)) return std::nullopt;
  WorkdirLister lister(workdir_settings(spec, context, plan.workdir));
  while (!lister.step()) {
  }
  if (!lister.status()) return tl::unexpected(lister.status().error());
  return lister.extent();
}

}  // namespace dlaunch
