// What jax.distributed.initialize() of JAX 0.11 reads (jax/_src/distributed.py,
// jax/_src/clusters/ompi_cluster.py), and Kubeflow's JAXJob; DeepSpeed's init_distributed().
#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using test::environment_of;
using test::fake_cluster;
using test::fake_context;
using test::list_job;

LaunchPlan plan_of(const JobSpec& spec) {
  const auto plan = make_plan(spec, fake_cluster({{.gpus = 2}, {.gpus = 2}}), fake_context());
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.value_or(LaunchPlan{});
}

TEST(Jax, FindsItsCoordinatorAndItsPlace) {
  JobSpec spec = list_job();
  spec.framework = Framework::jax;
  const LaunchPlan plan = plan_of(spec);
  ASSERT_EQ(plan.ranks.size(), 4U);
  const Environment env = environment_of(plan, 3);
  const Environment expected = {{"JAX_COORDINATOR_ADDRESS", "addr-of-node0:21000"},
                                {"OMPI_MCA_orte_hnp_uri", "0.0;tcp://addr-of-node0:21000"},
                                {"OMPI_COMM_WORLD_SIZE", "4"},
                                {"OMPI_COMM_WORLD_RANK", "3"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"COORDINATOR_ADDRESS", "addr-of-node0"},
                                {"COORDINATOR_PORT", "21000"},
                                {"NUM_PROCESSES", "4"},
                                {"PROCESS_ID", "3"},
                                {"DLAUNCH_RANK", "3"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(find_variable(env, name), value) << name;
  for (const char* other : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "TF_CONFIG"})
    EXPECT_FALSE(find_variable(env, other)) << other;
  EXPECT_EQ(plan.ranks.front().ports, std::vector<std::uint16_t>{21000}) << "held for rank 0";
}

TEST(Jax, AnIpv6CoordinatorHasBrackets) {
  JobSpec spec = list_job();
  spec.framework = Framework::jax;
  spec.rendezvous.address = "fd00::1";
  Cluster cluster = fake_cluster({{.gpus = 1}});
  const auto plan = make_plan(spec, cluster, fake_context());
  ASSERT_TRUE(plan) << plan.error().message;
  const Environment env = environment_of(*plan, 0);
  EXPECT_EQ(find_variable(env, "JAX_COORDINATOR_ADDRESS"), "[fd00::1]:21000");
  EXPECT_EQ(find_variable(env, "OMPI_MCA_orte_hnp_uri"), "0.0;tcp6://[fd00::1]:21000");
}

TEST(Deepspeed, HasTheVariablesOfPytorch) {
  JobSpec torch = list_job();
  JobSpec deepspeed = torch;
  deepspeed.framework = Framework::deepspeed;
  EXPECT_EQ(environment_of(plan_of(deepspeed), 3), environment_of(plan_of(torch), 3));
  for (const Launch launch : {Launch::per_node, Launch::once}) {
    torch.launch = deepspeed.launch = launch;
    EXPECT_EQ(environment_of(plan_of(deepspeed), 0), environment_of(plan_of(torch), 0));
  }
}

}  // namespace
}  // namespace dlaunch
