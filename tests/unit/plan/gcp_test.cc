#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using nlohmann::json;
using test::environment_of;
using test::error_of;
using test::fake_cluster;
using test::list_job;
using test::plan_of;

JobSpec gcp_job() {
  JobSpec spec = list_job();
  spec.framework = Framework::gcp;
  return spec;
}

json variable_of(const LaunchPlan& plan, std::uint32_t rank, const char* name) {
  return json::parse(environment_of(plan, rank).at(name));
}

// Rules, all of AI Platform Training's documentation:
// [pytorch] "Distributed PyTorch training", environment variables
// [details] "TF_CONFIG and distributed training"
// [containers] "Distributed training with containers"

TEST(Gcp, EveryMachineOfAPytorchJobKnowsItsPlace) {
  // [pytorch] WORLD_SIZE is the number of nodes, RANK 0 is the master worker, the workers have 1 to
  // WORLD_SIZE - 1, and MASTER_ADDR is the master worker's host. One process a node, whatever GPUs
  // it has: the program starts its own.
  const LaunchPlan plan = plan_of(gcp_job(), fake_cluster({{.gpus = 8}, {.gpus = 8}, {.gpus = 8}}));
  ASSERT_EQ(plan.ranks.size(), 3U);
  const Environment last = environment_of(plan, 2);
  const Environment expected = {
      {"RANK", "2"},
      {"WORLD_SIZE", "3"},
      {"MASTER_ADDR", "addr-of-node0"},
      {"MASTER_PORT", "21000"},
      {"TF_CONFIG", last.at("TF_CONFIG")},
      {"CLUSTER_SPEC", last.at("CLUSTER_SPEC")},
      {"PYTHONUNBUFFERED", "1"},
      {"DLAUNCH_RUN_ID", "20261120-210142-k3f"},
      {"DLAUNCH_RANK", "2"},
      {"DLAUNCH_WORLD_SIZE", "3"},
      {"DLAUNCH_LOCAL_RANK", "0"},
      {"DLAUNCH_NODE_RANK", "2"},
      {"DLAUNCH_HEARTBEAT_FILE",
       "/home/eve/project/runs/20261120-210142-k3f/attempt-0/rank-2.heartbeat"},
      {"DLAUNCH_ATTEMPT", "0"},
  };
  EXPECT_EQ(last, expected) << "no LOCAL_RANK and no count of processes: they are not Google's";
  EXPECT_EQ(environment_of(plan, 0).at("RANK"), "0");
  EXPECT_EQ(plan.ranks[2].gpus.size(), 8U);
}

TEST(Gcp, TfConfigSaysChiefAndClusterSpecSaysMaster) {
  JobSpec spec = gcp_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 2), test::role("ps", 1),
                test::role("evaluator", 1)};
  spec.success = Success::chief;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.ports = 6}}));
  ASSERT_EQ(plan.ranks.size(), 5U);
  // [details] chief since runtime 2.1; the cluster never has the key evaluator; environment
  // "cloud"; job is the TrainingInput, of which there is none; trial is set in tuning jobs only.
  const json tf_cluster = json::parse(R"({
    "chief": ["127.0.0.1:21001"], "worker": ["127.0.0.1:21002", "127.0.0.1:21003"],
    "ps": ["127.0.0.1:21004"]})");
  // [containers] CLUSTER_SPEC describes every replica, master worker, worker, parameter server or
  // evaluator; it keeps the name master.
  const json cluster_spec = json::parse(R"({
    "master": ["127.0.0.1:21001"], "worker": ["127.0.0.1:21002", "127.0.0.1:21003"],
    "ps": ["127.0.0.1:21004"], "evaluator": ["127.0.0.1:21005"]})");
  const std::vector<std::pair<std::string, int>> tasks = {
      {"chief", 0}, {"worker", 0}, {"worker", 1}, {"ps", 0}, {"evaluator", 0}};
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    json expected = {{"cluster", tf_cluster},
                     {"environment", "cloud"},
                     {"job", json::object()},
                     {"task", {{"type", tasks[rank].first}, {"index", tasks[rank].second}}}};
    EXPECT_EQ(variable_of(plan, rank, "TF_CONFIG"), expected) << rank;
    expected["cluster"] = cluster_spec;
    if (rank == 0) expected["task"]["type"] = "master";
    EXPECT_EQ(variable_of(plan, rank, "CLUSTER_SPEC"), expected) << rank;
  }
}

TEST(Gcp, TfConfigSaysMasterWhereItIsAskedFor) {
  // [details] "chief versus master": runtime 1.15 and older, and custom containers.
  JobSpec spec = gcp_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 1), test::role("evaluator", 1)};
  spec.gcp.tf_config = GcpNames::Chief::master;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.ports = 4}}));
  const json cluster =
      json::parse(R"({"master": ["127.0.0.1:21001"], "worker": ["127.0.0.1:21002"]})");
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(variable_of(plan, rank, "TF_CONFIG")["cluster"], cluster) << rank;
  EXPECT_EQ(variable_of(plan, 0, "TF_CONFIG")["task"]["type"], "master");
  EXPECT_EQ(variable_of(plan, 1, "TF_CONFIG")["task"]["type"], "worker");
  EXPECT_EQ(variable_of(plan, 2, "TF_CONFIG")["task"]["type"], "evaluator");
}

TEST(Gcp, ClusterSpecNamesWorkerPools) {
  // Vertex AI, "CLUSTER_SPEC format": the keys are workerpool0 to workerpool3, by the position in
  // workerPoolSpecs; empty pools are left out.
  JobSpec spec = gcp_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 2), test::role("evaluator", 1)};
  spec.gcp.cluster_spec = GcpNames::Groups::pools;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.ports = 5}}));
  const json cluster = json::parse(R"({"workerpool0": ["127.0.0.1:21001"],
      "workerpool1": ["127.0.0.1:21002", "127.0.0.1:21003"],
      "workerpool3": ["127.0.0.1:21004"]})");
  const std::vector<std::pair<std::string, int>> tasks = {
      {"workerpool0", 0}, {"workerpool1", 0}, {"workerpool1", 1}, {"workerpool3", 0}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const json expected = {{"cluster", cluster},
                           {"environment", "cloud"},
                           {"job", json::object()},
                           {"task", {{"type", tasks[rank].first}, {"index", tasks[rank].second}}}};
    EXPECT_EQ(variable_of(plan, rank, "CLUSTER_SPEC"), expected) << rank;
  }
  EXPECT_EQ(variable_of(plan, 1, "TF_CONFIG")["cluster"]["chief"],
            json::parse(R"(["127.0.0.1:21001"])"));
}

TEST(Gcp, OneWorkerPoolAloneHasNoTfConfig) {
  // Vertex AI sets TF_CONFIG for distributed jobs only, AI Platform for all.
  JobSpec spec = gcp_job();
  spec.gcp.cluster_spec = GcpNames::Groups::pools;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_FALSE(environment_of(plan, 0).contains("TF_CONFIG"));
  EXPECT_EQ(variable_of(plan, 0, "CLUSTER_SPEC")["task"]["type"], "workerpool0");
  EXPECT_EQ(environment_of(plan, 0).at("WORLD_SIZE"), "1");
  spec.gcp.cluster_spec = GcpNames::Groups::roles;
  EXPECT_TRUE(environment_of(plan_of(spec, fake_cluster({{}})), 0).contains("TF_CONFIG"));
}

TEST(Gcp, OtherFrameworksHaveNoMaster) {
  JobSpec spec = gcp_job();
  spec.framework = Framework::tensorflow;
  spec.roles = {test::role("chief", 1), test::role("worker", 1)};
  spec.gcp.tf_config = GcpNames::Chief::master;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.ports = 2}}));
  EXPECT_EQ(variable_of(plan, 0, "TF_CONFIG")["task"]["type"], "chief");
}

TEST(Gcp, ServersAndEvaluatorsAreNotCounted) {
  // [pytorch] knows only a master worker and workers: init_process_group waits for WORLD_SIZE
  // processes, and no others join.
  JobSpec spec = gcp_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 1), test::role("ps", 1),
                test::role("evaluator", 1)};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.gpus = 2, .ports = 5}}));
  EXPECT_EQ(environment_of(plan, 1).at("RANK"), "1");  // worker i is i + 1
  EXPECT_EQ(environment_of(plan, 1).at("WORLD_SIZE"), "2");
  for (const std::uint32_t rank : {2U, 3U}) {
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
      EXPECT_FALSE(environment_of(plan, rank).contains(name)) << rank << name;
  }
  EXPECT_EQ(environment_of(plan, 2).at("CUDA_VISIBLE_DEVICES"), "-1") << "a parameter server";
}

TEST(Gcp, TheMasterHasAPortOfItsOwn) {
  // TensorFlow listens on the address in TF_CONFIG, PyTorch on MASTER_PORT: a program may use both.
  JobSpec spec = gcp_job();
  spec.processes = 2;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_EQ(plan.ranks[0].ports, (std::vector<std::uint16_t>{21001, 21000}));
  EXPECT_EQ(plan.ranks[1].ports, std::vector<std::uint16_t>{21002});
  EXPECT_EQ(environment_of(plan, 1).at("MASTER_PORT"), "21000");
  EXPECT_EQ(ports_wanted(spec), 3U);

  spec.rendezvous.port = 21003;  // held like the others, on every node
  EXPECT_EQ(ports_wanted(spec), 2U);
  const LaunchPlan chosen = plan_of(spec, fake_cluster({{}}));
  EXPECT_EQ(chosen.ranks[0].ports, (std::vector<std::uint16_t>{21000, 21003}));
}

TEST(Gcp, OneMachineIsAClusterToo) {
  // [details] TF_CONFIG is set on every VM of every training job
  const LaunchPlan plan = plan_of(gcp_job(), fake_cluster({{}}));
  EXPECT_EQ(variable_of(plan, 0, "TF_CONFIG")["cluster"], json({{"chief", {"127.0.0.1:21001"}}}));
  EXPECT_EQ(environment_of(plan, 0).at("RANK"), "0");
  EXPECT_EQ(environment_of(plan, 0).at("WORLD_SIZE"), "1");
}

TEST(Gcp, WhatDoesNotGoTogether) {
  JobSpec spec = gcp_job();
  spec.processes_per_node = {ProcessesPerNode::Kind::count, 8};
  EXPECT_THAT(error_of(spec, fake_cluster({{}})),
              testing::HasSubstr("leave out processes_per_node"));
  spec = gcp_job();
  spec.roles = {test::role("worker", 2)};  // TrainingInput: there is always exactly one master
  EXPECT_THAT(error_of(spec, fake_cluster({{}})), testing::HasSubstr("needs a chief"));
  spec = gcp_job();
  spec.launch = Launch::once;
  EXPECT_THAT(error_of(spec, fake_cluster({{}})), testing::HasSubstr("cannot form a cluster"));
}

}  // namespace
}  // namespace dlaunch
