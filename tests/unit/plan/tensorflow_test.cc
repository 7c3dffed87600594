#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"
#include "plan/tf_config.h"

namespace dlaunch {
namespace {

using nlohmann::json;
using test::environment_of;
using test::fake_cluster;
using test::fake_context;
using test::list_job;

JobSpec tf_job() {
  JobSpec spec = list_job();
  spec.framework = Framework::tensorflow;
  return spec;
}

LaunchPlan plan_of(const JobSpec& spec, const Cluster& cluster) {
  const auto plan = make_plan(spec, cluster, fake_context());
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.value_or(LaunchPlan{});
}

json tf_config_of(const LaunchPlan& plan, std::uint32_t rank) {
  return json::parse(environment_of(plan, rank).at("TF_CONFIG"));
}

// Rules: tf.distribute.cluster_resolver.TFConfigClusterResolver; index counts within the type.

TEST(Tensorflow, ChiefWorkersAndParameterServers) {
  JobSpec spec = tf_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 3), test::role("ps", 2)};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}, {}}));
  ASSERT_EQ(plan.ranks.size(), 6U);
  // Co-located tasks have ports of their own, each on the node that will use it: the n-th rank of a
  // node has its n-th port.
  const json cluster = json::parse(R"({
    "chief": ["addr-of-node0:21000"],
    "worker": ["addr-of-node0:21001", "addr-of-node1:21000", "addr-of-node1:21001"],
    "ps": ["addr-of-node0:21002", "addr-of-node1:21002"]})");
  const std::vector<std::pair<std::string, int>> tasks = {
      {"chief", 0}, {"worker", 0}, {"worker", 1}, {"worker", 2}, {"ps", 0}, {"ps", 1}};
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    const json expected = {{"cluster", cluster},  // identical on every task
                           {"environment", "cloud"},
                           {"task", {{"type", tasks[rank].first}, {"index", tasks[rank].second}}}};
    EXPECT_EQ(tf_config_of(plan, rank), expected);
  }
  EXPECT_EQ(plan.ranks[3].ports, std::vector<std::uint16_t>{21001});
}

TEST(Tensorflow, WithoutRolesAllAreWorkers) {
  JobSpec spec = tf_job();
  spec.processes = 2;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_EQ(tf_config_of(plan, 1),
            json::parse(R"({"cluster": {"worker": ["127.0.0.1:21000", "127.0.0.1:21001"]},
                                                   "environment": "cloud", "task": {"type": "worker", "index": 1}})"));
}

TEST(Tensorflow, PerNodeIsOneWorkerEach) {
  JobSpec spec = tf_job();
  spec.launch = Launch::per_node;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.gpus = 4}, {.gpus = 4}}));
  EXPECT_EQ(tf_config_of(plan, 1)["cluster"]["worker"],
            json({"addr-of-node0:21000", "addr-of-node1:21000"}));
}

TEST(Tensorflow, NothingOfPytorchIsSet) {
  const Environment env = environment_of(plan_of(tf_job(), fake_cluster({{}})), 0);
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "OMP_NUM_THREADS"}) {
    EXPECT_FALSE(env.contains(name)) << name;  // TF_CONFIG only
  }
  EXPECT_EQ(env.at("PYTHONUNBUFFERED"), "1");
}

TEST(Tensorflow, ParameterServersSeeNoGpuAndUseNone) {
  JobSpec spec = tf_job();
  spec.roles = {test::role("worker", 2), test::role("ps", 1)};
  spec.binding.gpus = Binding::Gpus::one_per_process;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.gpus = 2}}));
  EXPECT_EQ(environment_of(plan, 0).at("CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(environment_of(plan, 1).at("CUDA_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(environment_of(plan, 2).at("CUDA_VISIBLE_DEVICES"), "-1");  // design section 6
  EXPECT_TRUE(plan.ranks[2].gpus.empty());
}

TEST(Tensorflow, SaysThatAllGpusAreTakenByEveryWorker) {
  JobSpec spec = tf_job();
  spec.roles = {test::role("worker", 4)};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.gpus = 2}, {.gpus = 2}}));
  EXPECT_THAT(plan.notes, testing::ElementsAre(
                              "node0 and 1 more node: TensorFlow takes every GPU that it sees; use "
                              "binding.gpus: one-per-process"));
}

TEST(Tensorflow, TooFewPortsIsAnError) {
  JobSpec spec = tf_job();
  spec.processes = 3;
  const auto plan = make_plan(spec, fake_cluster({{.ports = 2}}), fake_context());
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error(),
            (Error{exit_code::kPreflight, "only 2 free ports were found on node0, 3 are needed"}));
}

TEST(Tensorflow, AClusterThatNoVariableCanHoldIsAnError) {
  // MAX_ARG_STRLEN, execve(2): 131072 bytes. 8000 tasks of 17 bytes each and more.
  JobSpec spec = tf_job();
  spec.processes = 8000;
  const auto plan = make_plan(spec, fake_cluster({{.ports = 8000}}), fake_context());
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message, testing::StartsWith("TF_CONFIG would have "));
}

TEST(Tensorflow, AddressesOfIpv6HaveBrackets) {
  RankPlan rank;
  rank.role = "worker";
  rank.ports = {2222};
  NodePlan node;
  node.address = "fe80::1";
  EXPECT_EQ(tf_cluster({rank}, {node}), R"({"worker":["[fe80::1]:2222"]})");  // RFC 3986, 3.2.2
}

TEST(Tensorflow, PortsWantedIsEnoughForAnyNode) {
  JobSpec spec = tf_job();
  EXPECT_EQ(ports_wanted(spec), 64U) << "the number of GPUs is not known yet";
  spec.roles = {test::role("chief", 1), test::role("worker", 3), test::role("ps", 2)};
  EXPECT_EQ(ports_wanted(spec), 6U) << "all tasks may be on one node";
  spec.roles.clear();
  spec.processes = 5;
  EXPECT_EQ(ports_wanted(spec), 5U);
  spec.processes.reset();
  spec.processes_per_node = {ProcessesPerNode::Kind::count, 7};
  EXPECT_EQ(ports_wanted(spec), 7U);
  spec.launch = Launch::per_node;
  spec.processes_per_node = {};
  EXPECT_EQ(ports_wanted(spec), 1U);
}

}  // namespace
}  // namespace dlaunch
