// The one table of rank variables: which ones a rank finds, for which framework, how they are
// computed and why.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// Adds the rank variables to a plan that is otherwise complete: to plan.variables those that are
/// the same for the whole job, to NodePlan::variables those of a node, to RankPlan::variables those
/// of a rank (and the `env` of its role). plan.variables must hold the user's layers, sorted by
/// name (plan/user_env.h): rank variables replace them, but a row that is kept if set gives way to
/// them and to the inherited environment. `only`: those of this rank and its node alone.
void add_rank_variables(const JobSpec&, const Cluster&, const PlanContext&, LaunchPlan&,
                        std::optional<Rank> only = std::nullopt);

/// Position in the table, for printing in a useful order; after all rows for a name that has none.
[[nodiscard]] std::size_t table_position(std::string_view name);

}  // namespace dlaunch
