// Which workdir a sync copies and what it leaves out, for both `dlaunch run` and `plan`.
#pragma once

#include <optional>
#include <string>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "node/sync/workdir_list.h"
#include "plan/make_plan.h"

namespace dlaunch {

[[nodiscard]] WorkdirListSettings workdir_settings(const JobSpec& spec, const PlanContext& context,
                                                   const std::string& workdir);

/// How much a sync with these settings would copy; nullopt: counting takes longer than `limit`.
/// Errors: as WorkdirLister.
[[nodiscard]] Result<std::optional<SyncExtent>> extent_within(Duration limit,
                                                              WorkdirListSettings settings);

/// How much a sync of this plan would copy; nullopt: the plan has no sync. Reads the whole tree.
[[nodiscard]] Result<std::optional<SyncExtent>> sync_extent(const JobSpec& spec,
                                                            const PlanContext& context,
                                                            const LaunchPlan& plan);

}  // namespace dlaunch
