#include "plan/exec_plan.h"

#include <algorithm>

#include "plan/inherited_env.h"
#include "plan/make_plan.h"
#include "plan/rank_env.h"

namespace dlaunch::launchers {

namespace {

std::string role_of(Framework framework, std::uint32_t rank) {
  if (framework == Framework::tensorflow) return "worker";
  if (framework != Framework::gcp) return "default";
  return rank == 0 ? "chief" : "worker";
}

Status check_addresses(const ExecInput& input) {
  const World& world = input.world;
  if (!has_tasks(input.framework) || world.nodes == 1) return {};
  if (!world.hosts.empty() && world.in_order) return {};
  return fail(exit_code::kPreflight,
              "--framework " + std::string(name_of(input.framework)) +
                  " needs the addresses of all ranks, but " + world.launcher +
                  (world.hosts.empty() ? " does not name all hosts"
                                       : " does not number the ranks node by node"));
}

void add_nodes(const World& world, LaunchPlan& plan) {
  plan.nodes.resize(world.nodes);
  for (std::uint32_t i = 0; i < world.nodes; ++i) {
    plan.nodes[i].name = i < world.hosts.size() ? world.hosts[i].name : "";
    plan.nodes[i].address = world.nodes == 1 ? "127.0.0.1" : plan.nodes[i].name;
  }
  plan.nodes[world.node].ranks.resize(world.local_size);
}

/// Adds all ranks, numbered node by node. If the launcher numbers them otherwise, only the position
/// of this process is correct, and only that is used.
void add_ranks(const ExecInput& input, LaunchPlan& plan) {
  const World& world = input.world;
  plan.ranks.resize(world.size);
  std::uint32_t node = 0;
  std::uint32_t local = 0;
  for (std::uint32_t r = 0; r < world.size; ++r) {
    RankPlan& rank = plan.ranks[r];
    rank.rank = Rank(r);
    const std::uint32_t here =
        node < world.hosts.size() ? world.hosts[node].ranks : world.local_size;
    if (local == here && node + 1 < world.nodes) {
      ++node;
      local = 0;
    }
    rank.node = NodeRank(node);
    rank.local_rank = LocalRank(local++);
    rank.role = role_of(input.framework, r);
    rank.role_rank = rank.role == "worker" && input.framework == Framework::gcp ? r - 1 : r;
    rank.ports = {static_cast<std::uint16_t>(plan.master.port + 1 + rank.local_rank.value)};
  }
  plan.ranks[world.rank].node = NodeRank(world.node);
  plan.ranks[world.rank].local_rank = LocalRank(world.local_rank);
}

Cluster cluster_of(const ExecInput& input, const LaunchPlan& plan) {
  Cluster cluster;
  cluster.nodes.resize(plan.nodes.size());
  Node& own = cluster.nodes[input.world.node];
  own.facts = input.facts;
  own.is_launcher = true;  // this process's variables are the node's
  return cluster;
}

MasterPlan master_of(const ExecInput& input) {
  const World& world = input.world;
  const std::string attempt = world.restarts == 0 ? "" : "/" + std::to_string(world.restarts);
  MasterPlan master{world.master, input.master_port, world.master_reason};
  if (master.port == 0) master.port = world.master_port;
  if (master.port == 0) master.port = master_port(world.job_id + attempt, input.local_ports);
  return master;
}

std::string port_reason(const ExecInput& input) {
  if (input.master_port != 0) return "--master-port";
  return "computed from the job's id, " + input.world.job_id;
}

}  // namespace

Result<LaunchPlan> exec_plan(const ExecInput& input) {
  if (const Status s = check_addresses(input); !s) return tl::unexpected(s.error());
  const World& world = input.world;
  LaunchPlan plan;
  plan.name = "exec";
  plan.run_id = world.job_id;
  plan.attempt = Attempt(world.restarts);
  plan.framework = input.framework;
  plan.master = master_of(input);
  if (has_tasks(input.framework) && plan.master.port > 65'535U - world.local_size) {
    return fail(exit_code::kUsage, "--master-port " + std::to_string(plan.master.port) +
                                       " leaves no ports above it for the tasks of a node");
  }
  plan.scrubbed = uses_mpi(input.framework) ? scrub_list_for_mpi() : scrub_list();
  add_nodes(world, plan);
  add_ranks(input, plan);

  JobSpec spec;
  spec.framework = input.framework;
  spec.mpi.torch_variables = input.torch_variables;
  PlanContext context;
  context.run_id = world.job_id;
  context.attempt = plan.attempt;
  context.launcher_env = input.environment;
  context.outer = OuterLauncher{port_reason(input), input.cores_are_own, world.threads};
  add_rank_variables(spec, cluster_of(input, plan), context, plan, Rank(world.rank));
  return plan;
}

Environment rank_environment(const LaunchPlan& plan, std::uint32_t rank,
                             const Environment& environment) {
  Environment result;
  for (const auto& variable : environment) {
    const bool is_scrubbed = std::any_of(
        plan.scrubbed.begin(), plan.scrubbed.end(),
        [&](const std::string& pattern) { return matches_pattern(pattern, variable.first); });
    if (!is_scrubbed) result.insert(variable);
  }
  const RankPlan& own = plan.ranks[rank];
  for (const auto* layer :
       {&plan.variables, &plan.nodes[own.node.value].variables, &own.variables}) {
    for (const Variable& variable : *layer) result[variable.name] = variable.value;
  }
  return result;
}

}  // namespace dlaunch::launchers
