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
using test::plan_of;

JobSpec tf_job() {
  JobSpec spec = list_job();
  spec.framework = Framework::tensorflow;
  return spec;
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
  // Co-located tasks have their own ports, each free on the node that will use it: the n-th rank of
  // a node has its n-th port.
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

// Observed with TensorFlow 2.21: the chief of ParameterServerStrategy waits forever.
TEST(Tensorflow, ParameterServersOnOneCoreGetTwoThreadsForOperations) {
  JobSpec spec = tf_job();
  spec.roles = {test::role("chief", 1), test::role("ps", 1)};
  const auto threads = [&](int cores) {
    const auto plan = plan_of(spec, fake_cluster({{.cores = cores}}));
    const auto environment = environment_of(plan, 1);
    const auto found = environment.find("TF_NUM_INTEROP_THREADS");
    return found == environment.end() ? std::string() : found->second;
  };
  EXPECT_EQ(threads(2), "2");
  EXPECT_EQ(threads(8), "");
  spec.binding.cpus = Binding::Cpus::none;
  EXPECT_EQ(threads(2), "");
  spec = tf_job();
  spec.processes = 2;  // workers only
  EXPECT_EQ(threads(2), "");
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
  EXPECT_EQ(environment_of(plan, 2).at("CUDA_VISIBLE_DEVICES"), "-1");  // docs/reference/variables.md
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
  EXPECT_EQ(plan.error(), (Error{exit_code::kPreflight,
                                 "only 2 free ports were found on node0, but 3 are needed"}));
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
  EXPECT_EQ(cluster_text(ClusterForm::tensorflow, {rank}, {node}),
            R"({"worker":["[fe80::1]:2222"]})");  // RFC 3986, 3.2.2
}

TEST(Tensorflow, TheEvaluatorIsNotPartOfTheCluster) {
  // tf.estimator.train_and_evaluate: "the evaluator task is not part of training cluster", its
  // index is 0. tensorflow/python/distribute/multi_worker_util.py (2.21): an evaluator that does
  // not appear in the cluster spec is a valid configuration. AI Platform: the cluster never has the
  // key.
  JobSpec spec = tf_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 1), test::role("ps", 1),
                test::role("evaluator", 1)};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  const json cluster = json::parse(
      R"({"chief": ["127.0.0.1:21000"], "worker": ["127.0.0.1:21001"], "ps": ["127.0.0.1:21002"]})");
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(tf_config_of(plan, rank)["cluster"], cluster) << rank;
  EXPECT_EQ(tf_config_of(plan, 3)["task"], json({{"type", "evaluator"}, {"index", 0}}));
  EXPECT_TRUE(plan.ranks[3].ports.empty()) << "no rank connects to it";
}

TEST(Tensorflow, TheEvaluatorAndAMasterAreListedWhereAskedFor) {
  // Kubeflow's training-operator v1.9, tensorflow.go: genClusterSpec lists every replica, under its
  // type in lower case; IsChiefOrMaster: Master is the older name of Chief.
  JobSpec spec = tf_job();
  spec.tensorflow = {TfCluster::Chief::master, TfCluster::Evaluator::listed};
  spec.roles = {test::role("chief", 1), test::role("worker", 1), test::role("evaluator", 1)};
  const LaunchPlan all = plan_of(spec, fake_cluster({{}}));
  EXPECT_EQ(tf_config_of(all, 1)["cluster"],
            json::parse(R"({"master": ["127.0.0.1:21000"], "worker": ["127.0.0.1:21001"],
                            "evaluator": ["127.0.0.1:21002"]})"));
  EXPECT_EQ(tf_config_of(all, 0)["task"], json({{"type", "master"}, {"index", 0}}));
  EXPECT_EQ(tf_config_of(all, 2)["task"], json({{"type", "evaluator"}, {"index", 0}}));

  spec.tensorflow = {TfCluster::Chief::chief, TfCluster::Evaluator::listed};
  EXPECT_EQ(tf_config_of(plan_of(spec, fake_cluster({{}})), 0)["cluster"]["evaluator"],
            json({"127.0.0.1:21002"}));
  spec.tensorflow = {TfCluster::Chief::master, TfCluster::Evaluator::apart};
  const LaunchPlan apart = plan_of(spec, fake_cluster({{}}));
  EXPECT_FALSE(tf_config_of(apart, 0)["cluster"].contains("evaluator"));
  EXPECT_TRUE(tf_config_of(apart, 0)["cluster"].contains("master"));

  spec.framework = Framework::gcp;
  EXPECT_TRUE(tf_config_of(plan_of(spec, fake_cluster({{}})), 0)["cluster"].contains("chief"))
      << "gcp has keys of its own";
}

TEST(Tensorflow, OneWorkerAloneHasAClusterToo) {
  // Azure ML and AI Platform set TF_CONFIG for a single process; TFConfigClusterResolver and
  // MultiWorkerMirroredStrategy take a cluster of one. (Vertex and Kubeflow leave it out.)
  const LaunchPlan plan = plan_of(tf_job(), fake_cluster({{}}));
  EXPECT_EQ(tf_config_of(plan, 0)["cluster"], json({{"worker", {"127.0.0.1:21000"}}}));
  EXPECT_EQ(tf_config_of(plan, 0)["task"], json({{"type", "worker"}, {"index", 0}}));
}

TEST(Tensorflow, WithoutAChiefNoneIsListed) {
  // multi_worker_util.is_chief: if the cluster lists no chief, worker 0 is the chief.
  JobSpec spec = tf_job();
  spec.roles = {test::role("worker", 2), test::role("ps", 1)};
  const json config = tf_config_of(plan_of(spec, fake_cluster({{}})), 0);
  EXPECT_FALSE(config["cluster"].contains("chief"));
  EXPECT_EQ(config["task"], json({{"type", "worker"}, {"index", 0}}));
}

TEST(Tensorflow, TheEvaluatorTakesAGpuThatIsLeft) {
  // It computes: AI Platform gives it its own accelerators (TrainingInput.evaluatorConfig).
  JobSpec spec = tf_job();
  spec.roles = {test::role("worker", 2), test::role("ps", 1), test::role("evaluator", 1)};
  spec.binding.gpus = Binding::Gpus::one_per_process;
  const LaunchPlan roomy = plan_of(spec, fake_cluster({{.gpus = 3}}));
  EXPECT_EQ(environment_of(roomy, 2).at("CUDA_VISIBLE_DEVICES"), "-1") << "ps";
  EXPECT_EQ(environment_of(roomy, 3).at("CUDA_VISIBLE_DEVICES"), "2") << "evaluator";

  const LaunchPlan tight = plan_of(spec, fake_cluster({{.gpus = 2}}));
  EXPECT_EQ(environment_of(tight, 1).at("CUDA_VISIBLE_DEVICES"), "1") << "workers come first";
  EXPECT_EQ(environment_of(tight, 3).at("CUDA_VISIBLE_DEVICES"), "-1");
  EXPECT_TRUE(tight.ranks[3].gpus.empty());
}

TEST(Tensorflow, RolesHaveCommandsAndVariablesOfTheirOwn) {
  JobSpec spec = tf_job();
  spec.env = {{"A", "job"}, {"B", "job"}};
  spec.roles = {test::role("worker", 2), test::role("ps", 1), test::role("evaluator", 1)};
  spec.roles[1].command = Command{false, "", {"serve"}};
  spec.roles[1].env = {{"A", "ps"}};
  spec.roles[2].command = Command{true, "python eval.py | tee log", {}};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_EQ(plan.commands.size(), 3U);
  EXPECT_EQ(plan.commands[plan.ranks[0].command].argv, spec.command.argv);
  EXPECT_EQ(plan.commands[plan.ranks[1].command].argv, spec.command.argv);
  EXPECT_EQ(plan.commands[plan.ranks[2].command].argv, std::vector<std::string>{"serve"});
  EXPECT_TRUE(plan.commands[plan.ranks[3].command].is_own_shell);
  EXPECT_EQ(environment_of(plan, 2).at("A"), "ps") << "later wins: env, then role env";
  EXPECT_EQ(environment_of(plan, 2).at("B"), "job");
  EXPECT_EQ(environment_of(plan, 0).at("A"), "job");
}

TEST(Tensorflow, NotesOfRoles) {
  JobSpec spec = tf_job();
  spec.roles = {test::role("worker", 1), test::role("ps", 1)};
  spec.roles[0].command = spec.roles[1].command = Command{false, "", {"x"}};
  spec.processes_per_node = {ProcessesPerNode::Kind::count, 2};
  spec.success = Success::all;
  EXPECT_THAT(
      plan_of(spec, fake_cluster({{}})).notes,
      testing::ElementsAre("command is not used: every role has its own",
                           "processes_per_node is not used: the roles set the number of "
                           "processes",
                           testing::HasSubstr("success: all also waits for parameter servers")));
  spec = tf_job();
  spec.roles = {test::role("worker", 1), test::role("ps", 1)};
  spec.success = Success::workers;
  EXPECT_THAT(plan_of(spec, fake_cluster({{}})).notes, testing::IsEmpty());
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
