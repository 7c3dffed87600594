// Computes from the table of rank variables which variables each rank gets, with their values and
// reasons.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// Adds the rank variables to an otherwise complete plan: those common to the job to
/// plan.variables, those of a node to NodePlan::variables, and those of a rank (and the `env` of
/// its role) to RankPlan::variables. plan.variables must contain the user's layers, sorted by name
/// (plan/user_env.h). Rank variables replace the user's, except that a row with Keep::if_set yields
/// to them and to the inherited environment. `only`: computes only the variables of this rank and
/// its node.
void add_rank_variables(const JobSpec&, const Cluster&, const PlanContext&, LaunchPlan&,
                        std::optional<Rank> only = std::nullopt);

/// Position in the table, for output in a useful order; unknown names come last.
[[nodiscard]] std::size_t table_position(std::string_view name);

}  // namespace dlaunch
