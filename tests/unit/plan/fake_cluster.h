// Clusters and jobs for the tests of the plan.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "plan/make_plan.h"

namespace dlaunch::test {

struct NodeShape {
  int gpus = 0;
  int cores = 8;
  int numa_nodes = 1;
  int threads_per_core = 1;
  int slots = 0;
  int ports = 4;
};

/// Cores and GPUs are distributed over NUMA nodes in equal blocks. Hardware threads are numbered as
/// Linux does on x86: first all first threads, then all second ones. Ports are 21000, 21001, ...
inline Node fake_node(const std::string& name, const NodeShape& shape) {
  Node node;
  node.name = name;
  node.address = "addr-of-" + name;
  node.slots = shape.slots;
  node.facts.hostname = name;
  for (int c = 0; c < shape.cores; ++c) {
    CpuCore core;
    core.numa = c * shape.numa_nodes / shape.cores;
    for (int t = 0; t < shape.threads_per_core; ++t) core.threads.push_back(c + t * shape.cores);
    node.facts.cores.push_back(core);
  }
  for (int g = 0; g < shape.gpus; ++g) {
    GpuFact gpu;
    gpu.index = g;
    gpu.uuid =
        "GPU-" + std::string(1, static_cast<char>('a' + g)) + "0000000-1111-2222-3333-444444444444";
    gpu.model = "Fake H100";
    gpu.numa = g * shape.numa_nodes / shape.gpus;
    node.facts.gpus.push_back(gpu);
  }
  for (int p = 0; p < shape.ports; ++p)
    node.facts.reserved_ports.push_back(static_cast<std::uint16_t>(21000 + p));
  return node;
}

/// node0, node1, ...; the first is the launcher's own machine.
inline Cluster fake_cluster(const std::vector<NodeShape>& shapes) {
  Cluster cluster;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    cluster.nodes.push_back(fake_node("node" + std::to_string(i), shapes[i]));
  }
  cluster.nodes.front().is_launcher = true;
  return cluster;
}

inline JobSpec list_job(std::vector<std::string> argv = {"python", "train.py"}) {
  JobSpec spec;
  spec.name = "job";
  spec.command.argv = std::move(argv);
  return spec;
}

inline RoleSpec role(std::string name, int count) {
  RoleSpec spec;
  spec.name = std::move(name);
  spec.count = count;
  return spec;
}

inline PlanContext fake_context() {
  PlanContext context;
  context.run_id = "20261120-210142-k3f";
  context.current_folder = "/home/eve/project";
  context.run_folder = "/home/eve/project/runs/20261120-210142-k3f";
  return context;
}

/// The plan of a job that can be planned.
inline LaunchPlan plan_of(const JobSpec& spec, const Cluster& cluster,
                          const PlanContext& context = fake_context()) {
  const auto plan = make_plan(spec, cluster, context);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return plan.value_or(LaunchPlan{});
}

/// What is said of a job that cannot be planned.
inline std::string error_of(const JobSpec& spec, const Cluster& cluster) {
  const auto plan = make_plan(spec, cluster, fake_context());
  EXPECT_FALSE(plan.has_value());
  return plan ? "" : plan.error().message;
}

/// Everything that dlaunch sets for a rank, as the rank sees it.
inline Environment environment_of(const LaunchPlan& plan, std::uint32_t rank) {
  Environment env = shared_environment(plan, plan.ranks[rank].node);
  for (const auto& [name, value] : own_environment(plan.ranks[rank])) env[name] = value;
  return env;
}

}  // namespace dlaunch::test
