// Invariants of every plan, whatever the cluster looks like.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

test::NodeShape any_shape() {
  test::NodeShape shape;
  shape.gpus = *rc::gen::inRange(0, 9);
  shape.numa_nodes = *rc::gen::element(1, 2, 4);
  shape.cores = *rc::gen::inRange(shape.numa_nodes, 40);
  shape.threads_per_core = *rc::gen::inRange(1, 3);
  shape.slots = *rc::gen::element(0, 0, 1, 3, 8);
  shape.ports = 100;
  return shape;
}

Cluster any_cluster() {
  std::vector<test::NodeShape> shapes;
  for (int n = *rc::gen::inRange(1, 6); n > 0; --n) shapes.push_back(any_shape());
  Cluster cluster = test::fake_cluster(shapes);
  for (Node& node : cluster.nodes) {
    for (CpuCore& core : node.facts.cores) core.taken = *rc::gen::inRange(0, 5) == 0;
    node.facts.cuda_visible_devices = *rc::gen::element<std::optional<std::string>>(
        std::nullopt, "0", "3,1,GPU-c", "", "7,6,5,4,3,2,1,0");
  }
  return cluster;
}

JobSpec any_job() {
  JobSpec spec = test::list_job();
  spec.framework =
      *rc::gen::element(Framework::pytorch, Framework::tensorflow, Framework::gcp, Framework::none);
  spec.launch = *rc::gen::element(Launch::per_process, Launch::per_process, Launch::per_process,
                                  Launch::per_node, Launch::once);
  spec.gcp.tf_config = *rc::gen::element(GcpNames::Chief::chief, GcpNames::Chief::master);
  spec.gcp.cluster_spec = *rc::gen::element(GcpNames::Groups::roles, GcpNames::Groups::pools);
  spec.binding.gpus =
      *rc::gen::element(Binding::Gpus::all, Binding::Gpus::one_per_process, Binding::Gpus::none);
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      spec.processes = *rc::gen::inRange(1, 40);
      break;
    case 1:
      spec.processes_per_node = {ProcessesPerNode::Kind::count, *rc::gen::inRange(1, 9)};
      break;
    case 2:
      spec.roles = {test::role("ps", *rc::gen::inRange(0, 4)),
                    test::role("worker", *rc::gen::inRange(1, 9)),
                    test::role("evaluator", *rc::gen::inRange(0, 2)),
                    test::role("chief", *rc::gen::inRange(0, 2))};
      break;
    default:
      break;
  }
  return spec;
}

void ranks_are_numbered(const LaunchPlan& plan) {
  std::set<std::uint32_t> seen;
  std::size_t local_sum = 0;
  for (std::uint32_t n = 0; n < plan.nodes.size(); ++n) {
    const NodePlan& node = plan.nodes[n];
    RC_ASSERT(!node.ranks.empty());
    RC_ASSERT(std::is_sorted(node.ranks.begin(), node.ranks.end()));
    for (std::uint32_t local = 0; local < node.ranks.size(); ++local) {
      const std::uint32_t rank = node.ranks[local].value;
      RC_ASSERT(rank < plan.ranks.size());
      RC_ASSERT(seen.insert(rank).second);
      RC_ASSERT(plan.ranks[rank].rank == Rank(rank));
      RC_ASSERT(plan.ranks[rank].node == NodeRank(n));
      RC_ASSERT(plan.ranks[rank].local_rank == LocalRank(local));  // contiguous from 0
      RC_ASSERT(plan.ranks[rank].command < plan.commands.size());
    }
    local_sum += node.ranks.size();
  }
  RC_ASSERT(local_sum == plan.ranks.size());  // the sum of local sizes is the world size
  RC_ASSERT(plan.ranks.front().node == NodeRank(0));
}

void roles_are_numbered(const LaunchPlan& plan) {
  std::uint32_t expected = 0;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const bool same_role = r > 0 && plan.ranks[r].role == plan.ranks[r - 1].role;
    expected = same_role ? expected + 1 : 0;
    RC_ASSERT(plan.ranks[r].role_rank == expected);
    if (same_role) RC_ASSERT(plan.ranks[r - 1].node <= plan.ranks[r].node);  // node-major
  }
}

void cores_are_exclusive(const LaunchPlan& plan, const Cluster& cluster) {
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    std::set<int> used;
    std::size_t bound = 0, smallest = SIZE_MAX, threads = 1;
    for (const Rank rank : plan.nodes[n].ranks) {
      const auto& cpus = plan.ranks[rank.value].cpus;
      if (!cpus.empty()) ++bound;
      smallest = std::min(smallest, cpus.size());
      for (const int cpu : cpus) RC_ASSERT(used.insert(cpu).second);
    }
    RC_ASSERT(bound == 0 || bound == plan.nodes[n].ranks.size());  // all or none
    std::size_t free = 0;
    for (const CpuCore& core : cluster.nodes[n].facts.cores) {
      threads = core.threads.size();
      std::size_t given = 0;
      for (const int cpu : core.threads) given += used.count(cpu);
      RC_ASSERT(given == 0 || given == core.threads.size());  // whole cores
      if (core.taken) {
        RC_ASSERT(given == 0);
      } else {
        ++free;
      }
    }
    RC_ASSERT((bound > 0) == (free >= plan.nodes[n].ranks.size()));
    if (bound > 0) RC_ASSERT(smallest >= threads);
  }
}

void ports_are_exclusive(const LaunchPlan& plan) {
  std::set<std::pair<std::uint32_t, std::uint16_t>> used;
  for (const RankPlan& rank : plan.ranks) {
    for (const std::uint16_t port : rank.ports)
      RC_ASSERT(used.insert({rank.node.value, port}).second);
    if (plan.framework == Framework::tensorflow)
      RC_ASSERT(rank.ports.size() == (rank.role == "evaluator" ? 0U : 1U));
  }
}

/// Every rank gets the same cluster; its type and index lead to its own address, and no address
/// occurs twice.
void clusters_agree(const LaunchPlan& plan, const char* variable, const char* absent) {
  nlohmann::json cluster;
  for (const RankPlan& rank : plan.ranks) {
    const auto env = test::environment_of(plan, rank.rank.value);
    const auto config = nlohmann::json::parse(env.at(variable));
    if (cluster.is_null()) cluster = config["cluster"];
    RC_ASSERT(config["cluster"] == cluster);
    const std::string type = config["task"]["type"];
    RC_ASSERT(config["task"]["index"] == rank.role_rank);
    RC_ASSERT(cluster.contains(type) == (type != absent));
    if (type == absent) continue;
    const std::string address = plan.nodes[rank.node.value].address;
    RC_ASSERT(cluster[type][rank.role_rank] == address + ":" + std::to_string(rank.ports.front()));
  }
  std::set<std::string> addresses;
  std::size_t tasks = 0;
  for (const auto& [type, list] : cluster.items()) {
    for (const std::string address : list) RC_ASSERT(addresses.insert(address).second);
    tasks += list.size();
  }
  const auto listed = std::count_if(plan.ranks.begin(), plan.ranks.end(),
                                    [&](const RankPlan& rank) { return rank.role != absent; });
  RC_ASSERT(tasks == static_cast<std::size_t>(listed));
}

/// Google's numbers: chief and workers count from 0, the others have none.
void machines_are_numbered(const LaunchPlan& plan) {
  std::size_t trainers = 0;
  for (const RankPlan& rank : plan.ranks)
    trainers += rank.role == "chief" || rank.role == "worker" ? 1 : 0;
  for (const RankPlan& rank : plan.ranks) {
    const auto env = test::environment_of(plan, rank.rank.value);
    const bool trains = rank.rank.value < trainers;
    RC_ASSERT(env.contains("RANK") == trains);
    RC_ASSERT(env.contains("MASTER_PORT") == trains);
    if (!trains) continue;
    RC_ASSERT(env.at("RANK") == std::to_string(rank.rank.value));
    RC_ASSERT(env.at("WORLD_SIZE") == std::to_string(trainers));
  }
}

/// The hostfile names the first nodes, each once, with a slot or more.
void hosts_are_the_first_nodes(const LaunchPlan& plan, const Cluster& cluster) {
  RC_ASSERT(plan.ranks.size() == 1U);
  RC_ASSERT(!plan.hosts.empty());
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    RC_ASSERT(plan.hosts[i].name == cluster.nodes[i].name);
    RC_ASSERT(plan.hosts[i].slots > 0U);
  }
}

RC_GTEST_PROP(Plan, Invariants, ()) {
  const Cluster cluster = any_cluster();
  const JobSpec spec = any_job();
  const auto plan = make_plan(spec, cluster, test::fake_context());
  RC_CLASSIFY(!plan.has_value(), "refused");
  if (!plan) {
    RC_ASSERT(plan.error().exit_code == exit_code::kJobFile);
    return;
  }
  ranks_are_numbered(*plan);
  roles_are_numbered(*plan);
  cores_are_exclusive(*plan, cluster);
  ports_are_exclusive(*plan);
  const bool is_gcp = spec.framework == Framework::gcp;
  const bool has_tasks = is_gcp || spec.framework == Framework::tensorflow;
  const bool is_alone = is_gcp && spec.gcp.cluster_spec == GcpNames::Groups::pools &&
                        plan->ranks.size() == 1;  // which has no TF_CONFIG
  if (has_tasks && !is_alone) clusters_agree(*plan, "TF_CONFIG", "evaluator");
  if (is_gcp) clusters_agree(*plan, "CLUSTER_SPEC", "");
  if (is_gcp) machines_are_numbered(*plan);
  if (spec.launch == Launch::once) hosts_are_the_first_nodes(*plan, cluster);
  for (const NodePlan& node : plan->nodes) {
    std::size_t ports = 0;
    for (const Rank rank : node.ranks) ports += plan->ranks[rank.value].ports.size();
    RC_ASSERT(ports_wanted(spec) >= ports);
  }
}

}  // namespace
}  // namespace dlaunch
