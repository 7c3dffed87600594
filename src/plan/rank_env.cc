#include "plan/rank_env.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "plan/bind.h"
#include "plan/tf_config.h"

namespace dlaunch {

namespace {

/// Who sets a row. A job has exactly one of these.
enum Profile : unsigned {
  kTorch = 1,         // pytorch, per-process
  kTorchPerNode = 2,  // pytorch, per-node: the process starts its own workers
  kTensorflow = 4,
  kNone = 8,
  kEvery = 15,
};

/// For whom the value is the same. `role`: for the whole job when it has one role, else per rank.
enum class Scope { job, node, rank, role };

enum class Keep { no, if_set };

/// What a row computes its value from. `node` and `facts` are null for Scope::job, `rank` is null
/// above Scope::rank.
struct View {
  const JobSpec& spec;
  const PlanContext& context;
  const LaunchPlan& plan;
  const std::string& tf_cluster;
  std::uint32_t node_index = 0;
  const NodePlan* node = nullptr;
  const NodeFacts* facts = nullptr;
  const RankPlan* rank = nullptr;
  std::size_t role_size = 0;
};

using Value = std::optional<std::string>;  // nullopt: this row does not apply

struct Row {
  std::string_view name;
  unsigned profiles;
  Scope scope;
  Keep keep;
  Value (*value)(const View&);
  const char* reason;
  std::string (*explain)(const View&) = nullptr;  // instead of `reason`, where it depends
};

Value number(std::size_t n) {
  return std::to_string(n);
}

std::string error_file(const View& v) {
  std::string path;
  path.reserve(v.context.run_folder.size() + 48);
  path += v.context.run_folder.empty() ? "<run folder>" : v.context.run_folder;
  path += "/attempt-";
  path += std::to_string(v.plan.attempt.value);
  path += "/rank-";
  path += std::to_string(v.rank->rank.value);
  return path += ".error.json";
}

std::string run_id(const View& v) {
  return v.context.run_id.empty() ? "<run id>" : v.context.run_id;
}

Value threads(const View& v) {
  if (v.spec.binding.threads > 0) return number(static_cast<std::size_t>(v.spec.binding.threads));
  if (v.spec.framework != Framework::pytorch || v.spec.launch != Launch::per_process)
    return std::nullopt;
  return number(static_cast<std::size_t>(threads_per_rank(*v.facts, v.node->ranks.size())));
}

std::string threads_reason(const View& v) {
  if (v.spec.binding.threads > 0) return "binding.threads";
  const std::size_t ranks = v.node->ranks.size();
  const std::size_t cores = cores_to_share(*v.facts, ranks);
  return std::to_string(cores) + (cores == 1 ? " core" : " cores") + " / " + std::to_string(ranks) +
         (ranks == 1 ? " rank" : " ranks") + ", at least 1";
}

Value visible_devices(const View& v) {
  if (v.spec.binding.gpus == Binding::Gpus::none) return std::nullopt;  // the row for the whole job
  if (v.rank->role == "ps") return "-1";
  if (v.spec.binding.gpus != Binding::Gpus::one_per_process || v.rank->gpus.empty())
    return std::nullopt;
  return v.rank->gpus.front();
}

// In the order in which they are printed. Sources: design section 6; torchrun's set, DeepSpeed's
// LOCAL_SIZE and CROSS_*; "1" and "True"/"False" as their readers spell them.
constexpr unsigned kBothTorch = kTorch | kTorchPerNode;
const Row kTable[] = {
    {"RANK", kTorch, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); },
     "global rank, hosts in the order given"},
    {"LOCAL_RANK", kTorch, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); },
     "index on its node; selects the GPU"},
    {"WORLD_SIZE", kTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); }, "number of ranks"},
    {"LOCAL_WORLD_SIZE", kTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node->ranks.size()); }, "ranks on this node"},
    {"MASTER_ADDR", kBothTorch, Scope::job, Keep::no,
     [](const View& v) -> Value { return v.plan.master.address; }, "",
     [](const View& v) { return v.plan.master.reason; }},
    {"MASTER_PORT", kBothTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.master.port); }, "",
     [](const View& v) -> std::string {
       return v.spec.rendezvous.port != 0 ? "rendezvous.port of the job"
                                          : "free on the first node, new for each attempt";
     }},
    {"TF_CONFIG", kTensorflow, Scope::rank, Keep::no,
     [](const View& v) -> Value {
       return tf_config(v.tf_cluster, v.rank->role, v.rank->role_rank);
     },
     "the cluster and this task's place in it"},
    {"CUDA_VISIBLE_DEVICES", kEvery, Scope::job, Keep::no,
     [](const View& v) -> Value {
       return v.spec.binding.gpus == Binding::Gpus::none ? Value("-1") : std::nullopt;
     },
     "binding.gpus: none"},
    {"CUDA_VISIBLE_DEVICES", kEvery, Scope::rank, Keep::no, visible_devices, "",
     [](const View& v) -> std::string {
       return v.rank->role == "ps" ? "a parameter server uses no GPU"
                                   : "binding.gpus: one-per-process";
     }},
    {"OMP_NUM_THREADS", kEvery, Scope::node, Keep::if_set, threads, "", threads_reason},
    {"NODE_RANK", kBothTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node"},
    {"GROUP_RANK", kBothTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node, torchrun's name"},
    {"GROUP_WORLD_SIZE", kBothTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.nodes.size()); }, "number of nodes, torchrun's name"},
    {"ROLE_NAME", kTorch, Scope::role, Keep::no,
     [](const View& v) -> Value {
       return v.rank != nullptr ? v.rank->role : v.plan.ranks.front().role;
     },
     "role of the rank"},
    {"ROLE_RANK", kTorch, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->role_rank); }, "index within the role"},
    {"ROLE_WORLD_SIZE", kTorch, Scope::role, Keep::no,
     [](const View& v) { return number(v.role_size); }, "ranks of the role"},
    {"LOCAL_SIZE", kTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node->ranks.size()); },
     "ranks on this node, DeepSpeed's name"},
    {"CROSS_RANK", kTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node, DeepSpeed's name"},
    {"CROSS_SIZE", kTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.nodes.size()); },
     "number of nodes, DeepSpeed's name"},
    {"TORCHELASTIC_RUN_ID", kTorch, Scope::job, Keep::no,
     [](const View& v) -> Value { return run_id(v); }, "id of the run; Lightning looks for it"},
    {"TORCHELASTIC_RESTART_COUNT", kTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.attempt.value); }, "restarts so far"},
    {"TORCHELASTIC_MAX_RESTARTS", kTorch, Scope::job, Keep::no,
     [](const View& v) {
       return number(static_cast<std::size_t>(std::max(v.spec.restart.max, 0)));
     },
     "restart.max"},
    {"TORCHELASTIC_USE_AGENT_STORE", kTorch, Scope::job, Keep::no,
     [](const View&) -> Value { return "False"; }, "rank 0 hosts the store at MASTER_PORT"},
    {"TORCHELASTIC_ERROR_FILE", kTorch, Scope::rank, Keep::no,
     [](const View& v) -> Value { return error_file(v); },
     "PyTorch writes the exception of a failed rank here"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", kTorch, Scope::node, Keep::if_set,
     [](const View&) -> Value { return "1"; },
     "a failed collective ends the rank instead of hanging"},
    {"PYTHONUNBUFFERED", kTorch | kTorchPerNode | kTensorflow, Scope::node, Keep::if_set,
     [](const View&) -> Value { return "1"; }, "output is seen when it is written"},
    {"DLAUNCH_RUN_ID", kEvery, Scope::job, Keep::no,
     [](const View& v) -> Value { return run_id(v); }, "id of the run"},
    {"DLAUNCH_RANK", kEvery, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); }, "global rank"},
    {"DLAUNCH_WORLD_SIZE", kEvery, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); }, "number of ranks"},
    {"DLAUNCH_LOCAL_RANK", kEvery, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); }, "index on its node"},
    {"DLAUNCH_NODE_RANK", kEvery, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node"},
    {"DLAUNCH_ATTEMPT", kEvery, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.attempt.value); }, "restarts so far"},
};

Profile profile_of(const JobSpec& spec) {
  if (spec.framework == Framework::tensorflow) return kTensorflow;
  if (spec.framework != Framework::pytorch) return kNone;
  return spec.launch == Launch::per_node ? kTorchPerNode : kTorch;
}

const Variable* find_sorted(const std::vector<Variable>& sorted, std::string_view name) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Variable& v, std::string_view n) { return v.name < n; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

/// The table for one job: its rows, sorted out by where their values go.
class Rows {
 public:
  Rows(Profile profile, bool one_role) {
    for (const Row& row : kTable) {
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
    out.push_back({std::string(row->name), std::move(*value), VariableSource::rank,
                   row->explain != nullptr ? row->explain(view) : row->reason});
  }
}

/// Rows that are kept if set: what the user passes stays where it is, what is inherited is shown as
/// kept.
void apply_kept(const std::vector<const Row*>& rows, const std::vector<Variable>& user,
                const Environment* inherited, std::vector<Variable>& variables) {
  for (const Row* row : rows) {
    if (row->keep != Keep::if_set) continue;
    const auto mine = std::find_if(variables.begin(), variables.end(),
                                   [&](const Variable& v) { return v.name == row->name; });
    if (mine == variables.end()) continue;
    if (find_sorted(user, row->name) != nullptr) {
      variables.erase(mine);
    } else if (inherited != nullptr && inherited->find(row->name) != inherited->end()) {
      mine->value = inherited->find(row->name)->second;
      mine->reason = "kept: set where dlaunch was started";
    }
  }
}

void sort_by_name(std::vector<Variable>& variables) {
  std::stable_sort(variables.begin(), variables.end(),
                   [](const Variable& a, const Variable& b) { return a.name < b.name; });
}

/// Of two with the same name the later one stays. Needs them sorted stably.
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
                  LaunchPlan& plan) {
  View view = job_view;
  std::size_t first = 0;
  for (const RoleFacts& role : roles) {
    view.role_size = role.size;
    for (std::size_t i = first; i < first + role.size; ++i) {
      RankPlan& rank = plan.ranks[i];
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

}  // namespace

void add_rank_variables(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                        LaunchPlan& plan) {
  const std::vector<RoleFacts> roles = roles_of(spec, plan);
  const Rows rows(profile_of(spec), roles.size() == 1);
  const std::string cluster_text =
      spec.framework == Framework::tensorflow ? tf_cluster(plan.ranks, plan.nodes) : std::string();
  View view{spec, context, plan, cluster_text};
  view.role_size = roles.front().size;

  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const Node& node = cluster.nodes[i];
    view.node_index = i;
    view.node = &plan.nodes[i];
    view.facts = &node.facts;
    append(rows.node, view, plan.nodes[i].variables);
    apply_kept(rows.node, plan.variables, node.is_launcher ? &context.launcher_env : nullptr,
               plan.nodes[i].variables);
  }
  append(rows.job, view, plan.variables);
  sort_by_name(plan.variables);
  keep_last_of_each(plan.variables);
  add_to_ranks(rows, view, roles, plan);
}

bool is_rank_variable(const JobSpec& spec, std::string_view name) {
  const Profile profile = profile_of(spec);
  return std::any_of(std::begin(kTable), std::end(kTable), [&](const Row& row) {
    // CUDA_VISIBLE_DEVICES in `env` is a restriction like an inherited one, and respected.
    return row.name == name && (row.profiles & profile) != 0 && row.keep == Keep::no &&
           name != "CUDA_VISIBLE_DEVICES";
  });
}

std::size_t table_position(std::string_view name) {
  const auto row = std::find_if(std::begin(kTable), std::end(kTable),
                                [&](const Row& r) { return r.name == name; });
  return static_cast<std::size_t>(row - std::begin(kTable));
}

}  // namespace dlaunch
