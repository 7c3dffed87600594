#include "plan/make_plan.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using test::environment_of;
using test::fake_cluster;
using test::fake_context;
using test::list_job;
using test::plan_of;
using testing::ElementsAre;
using testing::IsEmpty;

Error error_of(const JobSpec& spec, const Cluster& cluster) {
  const auto plan = make_plan(spec, cluster, fake_context());
  EXPECT_FALSE(plan.has_value());
  return plan ? Error{} : plan.error();
}

TEST(MakePlan, ANodeThatRefusesIsolationIsNoNodeForTheJob) {
  JobSpec spec = list_job();
  Cluster cluster = fake_cluster({{}, {}});
  cluster.nodes[1].facts.isolation_refused = "unshare: Operation not permitted\ndo something";
  plan_of(spec, cluster);  // not requested
  spec.isolation = Isolation::pid_namespace;
  EXPECT_EQ(error_of(spec, cluster),
            (Error{75,
                   "isolation: pid-namespace is not possible on node1: unshare: Operation not "
                   "permitted\n         try: do something"}));
}

// ---- GPUs (8 faked ones on 2 NUMA nodes)

const test::NodeShape kDgx{.gpus = 8, .cores = 16, .numa_nodes = 2};

TEST(MakePlan, EveryRankSeesAllGpusByDefault) {
  const LaunchPlan plan = plan_of(list_job(), fake_cluster({kDgx}));
  ASSERT_EQ(plan.ranks.size(), 8U);
  EXPECT_THAT(plan.ranks[5].gpus, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
  EXPECT_FALSE(environment_of(plan, 5).contains("CUDA_VISIBLE_DEVICES"))
      << "indexed by LOCAL_RANK; left as it is";
  EXPECT_THAT(plan.ranks[5].cpus, ElementsAre(10, 11))
      << "GPU 5 is at NUMA node 1, cores 8-15; second of four ranks there";
}

TEST(MakePlan, OneGpuPerProcess) {
  JobSpec spec = list_job();
  spec.binding.gpus = Binding::Gpus::one_per_process;
  const LaunchPlan plan = plan_of(spec, fake_cluster({kDgx}));
  EXPECT_EQ(environment_of(plan, 5).at("CUDA_VISIBLE_DEVICES"), "5");
  EXPECT_THAT(plan.ranks[5].gpus, ElementsAre("5"));
}

TEST(MakePlan, OneGpuPerProcessNeedsEnoughOfThem) {
  JobSpec spec = list_job();
  spec.binding.gpus = Binding::Gpus::one_per_process;
  spec.processes = 3;
  EXPECT_EQ(
      error_of(spec, fake_cluster({{.gpus = 2}})).message,
      "\"binding.gpus: one-per-process\" but node0 has 2 GPUs that the job may use, for 3 ranks");
  plan_of(spec, fake_cluster({{}}));  // without any GPU there is nothing to divide
}

TEST(MakePlan, NoGpus) {
  JobSpec spec = list_job();
  spec.binding.gpus = Binding::Gpus::none;
  const LaunchPlan plan = plan_of(spec, fake_cluster({kDgx}));
  ASSERT_EQ(plan.ranks.size(), 1U) << "processes_per_node: auto counts GPUs that are used";
  EXPECT_EQ(environment_of(plan, 0).at("CUDA_VISIBLE_DEVICES"), "-1");
  EXPECT_THAT(plan.ranks[0].gpus, IsEmpty());
}

TEST(MakePlan, InheritedRestrictionIsRespected) {
  // The node's own environment names four GPUs, in this order.
  Cluster cluster = fake_cluster({kDgx});
  cluster.nodes[0].facts.cuda_visible_devices = "6,GPU-b,7,0";
  const LaunchPlan all = plan_of(list_job(), cluster);
  ASSERT_EQ(all.ranks.size(), 4U);
  EXPECT_THAT(all.ranks[2].gpus, ElementsAre("6", "GPU-b", "7", "0"));
  EXPECT_FALSE(environment_of(all, 2).contains("CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(all.ranks[0].cpus, ElementsAre(8, 9, 10, 11))
      << "LOCAL_RANK 0 is GPU 6, at NUMA node 1";
  EXPECT_THAT(all.ranks[1].cpus, ElementsAre(0, 1, 2, 3)) << "GPU-b is at NUMA node 0";

  JobSpec spec = list_job();
  spec.binding.gpus = Binding::Gpus::one_per_process;
  const LaunchPlan each = plan_of(spec, cluster);
  EXPECT_EQ(environment_of(each, 1).at("CUDA_VISIBLE_DEVICES"), "GPU-b");
}

TEST(MakePlan, RestrictionOfTheJobWinsOverTheInheritedOne) {
  Cluster cluster = fake_cluster({kDgx});
  cluster.nodes[0].facts.cuda_visible_devices = "0";
  JobSpec spec = list_job();
  spec.env = {{"CUDA_VISIBLE_DEVICES", "2,3"}};
  EXPECT_EQ(plan_of(spec, cluster).ranks.size(), 2U);
}

TEST(MakePlan, NothingLeftOfTheGpus) {
  Cluster cluster = fake_cluster({kDgx});
  cluster.nodes[0].facts.cuda_visible_devices = "";
  EXPECT_EQ(plan_of(list_job(), cluster).ranks.size(), 1U);
  JobSpec spec = list_job();
  spec.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
  EXPECT_EQ(error_of(spec, cluster).message,
            "\"processes_per_node: gpu\" but node0 has no GPU that the job may use\n"
            "         try: -n N, a number of processes without regard to GPUs");
}

TEST(MakePlan, SaysThatGpusAreShared) {
  JobSpec spec = list_job();
  spec.processes = 4;
  EXPECT_THAT(
      plan_of(spec, fake_cluster({{.gpus = 2}})).notes,
      ElementsAre("node0: 4 ranks for 2 GPUs; a LOCAL_RANK of 2 or more has no GPU of its own"));
}

TEST(MakePlan, ALoneRankThatSeesManyGpusGetsAllCores) {
  JobSpec spec = list_job();
  spec.processes = 1;
  EXPECT_EQ(plan_of(spec, fake_cluster({kDgx})).ranks[0].cpus.size(), 16U);
}

TEST(MakePlan, TakenCoresAreLeftToTheirRun) {
  Cluster cluster = fake_cluster({{.cores = 4}});
  cluster.nodes[0].facts.cores[0].taken = cluster.nodes[0].facts.cores[1].taken = true;
  JobSpec spec = list_job();
  spec.processes = 2;
  const LaunchPlan plan = plan_of(spec, cluster);
  EXPECT_THAT(plan.ranks[0].cpus, ElementsAre(2));
  EXPECT_THAT(plan.ranks[1].cpus, ElementsAre(3));
  EXPECT_EQ(environment_of(plan, 0).at("OMP_NUM_THREADS"), "1");
}

// ---- meeting

TEST(MakePlan, RankZeroGetsTheMastersPort) {
  const LaunchPlan plan = plan_of(list_job(), fake_cluster({{.gpus = 2}}));
  EXPECT_EQ(plan.master, (MasterPlan{"127.0.0.1", 21000, "the only node"}));
  EXPECT_THAT(plan.ranks[0].ports, ElementsAre(21000));
  EXPECT_THAT(plan.ranks[1].ports, IsEmpty());
  EXPECT_EQ(ports_wanted(list_job()), 1U);
  EXPECT_THAT(fixed_ports(list_job()), IsEmpty());
}

TEST(MakePlan, AChosenPort) {
  JobSpec spec = list_job();
  spec.rendezvous.port = 29500;
  EXPECT_EQ(ports_wanted(spec), 0U);
  EXPECT_THAT(fixed_ports(spec), ElementsAre(29500));
  Cluster cluster = fake_cluster({{.ports = 0}});
  EXPECT_EQ(plan_of(spec, cluster).master.port, 29500);
  // names who holds it and what to do
  cluster.nodes[0].facts.taken_ports = {{29500, "pid 8812 (python train.py, user eve)"}};
  EXPECT_EQ(error_of(spec, cluster),
            (Error{exit_code::kPreflight,
                   "port 29500 on node0 is taken by pid 8812 (python train.py, user eve); use "
                   "rendezvous.port: auto (--set rendezvous.port=auto)"}));
  cluster.nodes[0].facts.taken_ports[0].holder.clear();
  EXPECT_EQ(error_of(spec, cluster).message,
            "port 29500 on node0 is taken by another process; use rendezvous.port: auto (--set "
            "rendezvous.port=auto)");
}

TEST(MakePlan, AChosenPortThatIsTakenElsewhereDoesNotMatter) {
  JobSpec spec = list_job();
  spec.rendezvous.port = 29500;
  Cluster cluster = fake_cluster({{}, {}});
  cluster.nodes[1].facts.taken_ports = {{29500, "pid 1"}};
  EXPECT_EQ(plan_of(spec, cluster).master.port, 29500);
}

TEST(MakePlan, AChosenAddress) {
  JobSpec spec = list_job();
  spec.rendezvous.address = "10.1.2.3";
  EXPECT_EQ(plan_of(spec, fake_cluster({{}, {}})).master.address, "10.1.2.3");
}

TEST(MakePlan, NoPortAtAll) {
  EXPECT_EQ(error_of(list_job(), fake_cluster({{.ports = 0}})).exit_code, exit_code::kPreflight);
}

TEST(MakePlan, APortThatNobodyUsesIsSaid) {
  JobSpec spec = list_job();
  spec.framework = Framework::none;
  spec.rendezvous.port = 29500;
  EXPECT_THAT(plan_of(spec, fake_cluster({{}})).notes,
              ElementsAre("rendezvous.port is not used by framework: none"));
  EXPECT_THAT(fixed_ports(spec), IsEmpty());
}

// ---- the user's variables (docs/reference/job-file.md: env_pass, env_secret, env, role env; later wins)

TEST(MakePlan, LayersOfTheUser) {
  JobSpec spec = list_job();
  spec.env_pass = {"NCCL_*", "TOKEN", "A", "MISSING"};
  spec.env_secret = {"TOKEN", "A", "ABSENT", "MISSING"};
  spec.env = {{"A", "env"}, {"B", "env"}};
  PlanContext context = fake_context();
  context.launcher_env = {
      {"NCCL_DEBUG", "WARN"}, {"TOKEN", "hush"}, {"A", "outer"}, {"HOME", "/home/eve"}};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}), context);
  const Environment env = environment_of(plan, 0);
  EXPECT_EQ(env.at("NCCL_DEBUG"), "WARN");
  EXPECT_EQ(env.at("A"), "env");
  EXPECT_EQ(env.at("B"), "env");
  EXPECT_FALSE(env.contains("TOKEN")) << "a secret travels apart";
  EXPECT_FALSE(env.contains("HOME"));
  EXPECT_EQ(secret_environment(spec, context.launcher_env), (Environment{{"TOKEN", "hush"}}))
      << "env wins over A";
  EXPECT_THAT(plan.not_passed, ElementsAre("MISSING", "ABSENT"));
  for (const Variable& variable : plan.variables) {
    EXPECT_NE(variable.value, "hush");
    EXPECT_EQ(variable.name == "TOKEN", variable.source == VariableSource::env_secret);
  }
}

TEST(MakePlan, APatternDoesNotPassWhatIsScrubbed) {
  JobSpec spec = list_job();
  spec.framework = Framework::none;
  PlanContext context = fake_context();
  context.launcher_env = {{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "77"}};
  spec.env_pass = {"SLURM_*"};
  EXPECT_FALSE(
      environment_of(plan_of(spec, fake_cluster({{}}), context), 0).contains("SLURM_PROCID"));
  EXPECT_EQ(environment_of(plan_of(spec, fake_cluster({{}}), context), 0).at("SLURM_JOB_ID"), "77");
  spec.env_pass = {"SLURM_PROCID"};
  EXPECT_EQ(environment_of(plan_of(spec, fake_cluster({{}}), context), 0).at("SLURM_PROCID"), "0")
      << "asked for by name";
}

// ---- the rest

TEST(MakePlan, Workdir) {
  JobSpec spec = list_job();
  const auto workdir = [&](const std::string& text) {
    spec.workdir = text;
    return plan_of(spec, fake_cluster({{}})).workdir;
  };
  EXPECT_EQ(workdir(""), "/home/eve/project");
  EXPECT_EQ(workdir("."), "/home/eve/project");
  EXPECT_EQ(workdir("src/"), "/home/eve/project/src");
  EXPECT_EQ(workdir("../other"), "/home/eve/other");
  EXPECT_EQ(workdir("/data"), "/data");
}

TEST(MakePlan, CommandsOfRoles) {
  JobSpec spec = list_job({"python", "worker.py"});
  spec.roles = {test::role("chief", 1), test::role("worker", 1), test::role("ps", 1)};
  spec.roles[2].command = Command{false, "", {"python", "ps.py"}};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  ASSERT_EQ(plan.commands.size(), 2U) << "equal commands are one";
  EXPECT_EQ(plan.ranks[0].command, plan.ranks[1].command);
  EXPECT_THAT(plan.commands[plan.ranks[2].command].argv, ElementsAre("python", "ps.py"));
}

TEST(MakePlan, NodesWithoutRanksAreNotInThePlan) {
  JobSpec spec = list_job();
  spec.processes = 2;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.slots = 2}, {.slots = 2}}));
  EXPECT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.master.address, "127.0.0.1") << "one node is left";
  EXPECT_THAT(plan.notes, ElementsAre("1 of 2 nodes get no rank"));
}

TEST(MakePlan, BeforeARunNamesAreShownAsPlaceholders) {
  PlanContext context = fake_context();
  context.run_id = context.run_folder = "";
  const Environment env = environment_of(plan_of(list_job(), fake_cluster({{}}), context), 0);
  EXPECT_EQ(env.at("TORCHELASTIC_RUN_ID"), "<run id>");
  EXPECT_EQ(env.at("TORCHELASTIC_ERROR_FILE"), "<run folder>/attempt-0/rank-0.error.json");
}

TEST(MakePlan, NoHosts) {
  EXPECT_EQ(error_of(list_job(), Cluster{}).message, "no hosts are given");
}

// ---- logs

TEST(MakePlan, ARankThatDoesNotExistCannotBeShown) {
  JobSpec spec = list_job();
  spec.logs.console = Logs::Console::ranks;
  spec.logs.console_ranks = {7, 8};
  EXPECT_EQ(
      error_of(spec, fake_cluster({kDgx})),
      (Error{exit_code::kJobFile, "logs.console: there is no rank 8; this job has ranks 0 to 7"}));
  spec.logs.console_ranks = {7, 0};
  EXPECT_EQ(plan_of(spec, fake_cluster({kDgx})).ranks.size(), 8U);
}

}  // namespace
}  // namespace dlaunch
