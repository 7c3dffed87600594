#include "plan/rank_env.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "plan/container.h"
#include "plan/rank_table.h"
#include "plan/tf_config.h"

namespace dlaunch {

namespace {

using rank_table::Keep;
using rank_table::Profile;
using rank_table::Row;
using rank_table::Scope;
using rank_table::Value;
using rank_table::View;

const Variable* find_sorted(const std::vector<Variable>& sorted, std::string_view name) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Variable& v, std::string_view n) { return v.name < n; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

/// The rows of the table that apply to one job, grouped by where their values go.
class Rows {
 public:
  Rows(Profile profile, bool one_role) {
    for (const Row& row : rank_table::rows()) {
      if ((row.profiles & profile) == 0) continue;
      Scope scope = row.scope;
      if (scope == Scope::role) scope = one_role ? Scope::job : Scope::rank;
      auto& rows = scope == Scope::job ? job : scope == Scope::node ? node : rank;
      rows.push_back(&row);
    }
  }
  std::vector<const Row*> job, node, rank;
};

void append(const std::vector<const Row*>& rows, const View& view, std::vector<Variable>& out) {
  for (const Row* row : rows) {
    Value value = row->value(view);
    if (!value) continue;
    out.push_back({std::string(row->name), std::move(*value), row->source,
                   row->explain != nullptr ? row->explain(view) : row->reason,
                   row->keep == Keep::if_set});
  }
}

/// Handles rows with Keep::if_set: values that the user passes stay where they are, and inherited
/// values are shown as kept.
void apply_kept(const std::vector<const Row*>& rows, const std::vector<Variable>& user,
                const Environment& inherited, const char* reason,
                std::vector<Variable>& variables) {
  for (const Row* row : rows) {
    if (row->keep != Keep::if_set) continue;
    const auto mine = std::find_if(variables.begin(), variables.end(),
                                   [&](const Variable& v) { return v.name == row->name; });
    if (mine == variables.end()) continue;
    if (find_sorted(user, row->name) != nullptr) {
      variables.erase(mine);
    } else if (const auto set = find_variable(inherited, row->name)) {
      mine->value = *set;
      mine->reason = reason;
    }
  }
}

void sort_by_name(std::vector<Variable>& variables) {
  std::stable_sort(variables.begin(), variables.end(),
                   [](const Variable& a, const Variable& b) { return a.name < b.name; });
}

/// Keeps the last of several variables with the same name. `variables` must have been sorted stably
/// by name.
void keep_last_of_each(std::vector<Variable>& variables) {
  std::vector<Variable> merged;
  merged.reserve(variables.size());
  for (Variable& variable : variables) {
    if (!merged.empty() && merged.back().name == variable.name) {
      merged.back() = std::move(variable);
    } else {
      merged.push_back(std::move(variable));
    }
  }
  variables = std::move(merged);
}

struct RoleFacts {
  const std::string* name;
  const RoleSpec* spec;
  std::size_t size;
};

std::vector<RoleFacts> roles_of(const JobSpec& spec, const LaunchPlan& plan) {
  std::vector<RoleFacts> roles;
  for (const RankPlan& rank : plan.ranks) {
    if (roles.empty() || *roles.back().name != rank.role) {
      const auto found = std::find_if(spec.roles.begin(), spec.roles.end(),
                                      [&](const RoleSpec& role) { return role.name == rank.role; });
      roles.push_back({&rank.role, found == spec.roles.end() ? nullptr : &*found, 0});
    }
    ++roles.back().size;
  }
  return roles;
}

void add_to_ranks(const Rows& rows, const View& job_view, const std::vector<RoleFacts>& roles,
                  std::optional<Rank> only, LaunchPlan& plan) {
  View view = job_view;
  std::size_t first = 0;
  for (const RoleFacts& role : roles) {
    view.role_size = role.size;
    for (std::size_t i = first; i < first + role.size; ++i) {
      RankPlan& rank = plan.ranks[i];
      if (only && rank.rank != *only) continue;
      view.rank = &rank;
      rank.variables.reserve(rows.rank.size() + (role.spec == nullptr ? 0 : role.spec->env.size()));
      if (role.spec != nullptr) {
        for (const auto& [name, value] : role.spec->env) {
          rank.variables.push_back(
              {name, value, VariableSource::role_env, "env of the role " + rank.role});
        }
      }
      append(rows.rank, view, rank.variables);
      if (role.spec == nullptr || role.spec->env.empty()) continue;
      sort_by_name(rank.variables);
      keep_last_of_each(rank.variables);
    }
    first += role.size;
  }
}

/// The fabric of each node; empty under another launcher, because each rank then sees only its own
/// node.
FabricPlan fabric_of(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                     const LaunchPlan& plan) {
  if (context.outer) return {};
  const auto is_set = [&](const char* name) {
    return find_sorted(plan.variables, name) != nullptr ||
           std::any_of(spec.roles.begin(), spec.roles.end(),
                       [&](const RoleSpec& role) { return role.env.contains(name); });
  };
  return plan_fabric(cluster, plan.nodes.size(),
                     is_set("NCCL_TOPO_FILE") || is_set("NCCL_CONF_FILE"));
}

/// Keeps the variables that files and the environment of a node set, because ours would override
/// them.
void keep_settings(const Rows& rows, const Node& node, const PlanContext& context,
                   const std::vector<Variable>& of_job, std::vector<Variable>& variables) {
  apply_kept(rows.node, of_job, rank_table::chosen_in_mca_files(node.facts),
             "kept: set in an Open MPI file (mca-params.conf) on this node", variables);
  apply_kept(rows.node, of_job, node.facts.fabric.nccl_settings,
             "kept: set in NCCL's own file on this node", variables);
  if (node.is_launcher) {
    apply_kept(rows.node, of_job, context.launcher_env, "kept: set where dlaunch was started",
               variables);
  } else {
    apply_kept(rows.node, of_job, node.facts.environment, "kept: set on this node", variables);
  }
}

}  // namespace

void add_rank_variables(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                        LaunchPlan& plan, std::optional<Rank> only) {
  const std::vector<RoleFacts> roles = roles_of(spec, plan);
  const Rows rows(rank_table::profile_of(spec), roles.size() == 1);
  const bool is_gcp = spec.framework == Framework::gcp;
  std::string tf_cluster;
  std::string cluster_spec;
  if (is_gcp || spec.framework == Framework::tensorflow)
    tf_cluster = cluster_text(tf_config_form(spec), plan.ranks, plan.nodes);
  if (is_gcp) cluster_spec = cluster_text(cluster_spec_form(spec), plan.ranks, plan.nodes);
  View view{spec, context, plan, tf_cluster, cluster_spec};
  view.role_size = roles.front().size;
  for (const RoleFacts& role : roles) {
    if (*role.name == "chief" || *role.name == "worker") view.trainers += role.size;
  }

  view.has_rdma = cluster.is_assumed;  // unknown
  for (std::size_t i = 0; i < plan.nodes.size(); ++i)
    view.has_rdma = view.has_rdma || !cluster.nodes[i].facts.rdma_devices.empty();

  FabricPlan fabric = fabric_of(spec, cluster, context, plan);
  if (!only) std::move(fabric.notes.begin(), fabric.notes.end(), std::back_inserter(plan.notes));

  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    if (only && plan.ranks[only->value].node.value != i) continue;
    const Node& node = cluster.nodes[i];
    view.node_index = i;
    view.node = &plan.nodes[i];
    view.facts = &node.facts;
    view.fabric = i < fabric.nodes.size() ? &fabric.nodes[i] : nullptr;
    append(rows.node, view, plan.nodes[i].variables);
    // Ranks in containers inherit only from the image, whose variables are unknown.
    if (all_contained(spec)) continue;
    keep_settings(rows, node, context, plan.variables, plan.nodes[i].variables);
  }
  append(rows.job, view, plan.variables);
  sort_by_name(plan.variables);
  keep_last_of_each(plan.variables);
  add_to_ranks(rows, view, roles, only, plan);
}

std::vector<std::string> kept_variables(const JobSpec& spec) {
  const Profile profile = rank_table::profile_of(spec);
  std::vector<std::string> names;
  for (const Row& row : rank_table::rows()) {
    if (row.keep == Keep::if_set && (row.profiles & profile) != 0) names.emplace_back(row.name);
  }
  for (const std::string_view name : rank_table::deciding_variables()) names.emplace_back(name);
  if (profile == rank_table::kMpi) names.emplace_back(rank_table::kMcaTcpExclude);
  if (spec.mpi.launcher == Mpi::Launcher::mpirun) {
    for (const std::string_view name : {rank_table::kMcaTcpInclude, rank_table::kMcaTcpExclude,
                                        std::string_view("OMPI_MCA_orte_tmpdir_base"),
                                        std::string_view("PRTE_MCA_prte_tmpdir_base")})
      names.emplace_back(name);
  }
  return names;
}

std::size_t table_position(std::string_view name) {
  const auto rows = rank_table::rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
  return static_cast<std::size_t>(row - rows.begin());
}

}  // namespace dlaunch
