#include "plan/rank_env.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"
#include "plan/inherited_env.h"

namespace dlaunch {
namespace {

using test::environment_of;
using test::fake_cluster;
using test::fake_context;
using test::list_job;
using test::plan_of;
using testing::Contains;

std::string reason_of(const std::vector<Variable>& variables, const std::string& name) {
  for (const Variable& v : variables) {
    if (v.name == name) return v.reason;
  }
  return "(not there)";
}

TEST(RankEnv, PytorchOnUnevenNodes) {
  // 3 + 2 GPUs; the last rank is the second of the second node.
  JobSpec spec = list_job();
  spec.restart.max = 3;
  PlanContext context = fake_context();
  context.attempt = Attempt(1);
  const LaunchPlan plan =
      plan_of(spec, fake_cluster({{.gpus = 3, .cores = 8}, {.gpus = 2, .cores = 8}}), context);
  const Environment expected = {
      // docs/reference/variables.md; torchrun's names and scopes (torch.distributed.run)
      {"RANK", "4"},
      {"LOCAL_RANK", "1"},  // counted from 0 on each node, where DeepSpeed's modulo would say 0
      {"WORLD_SIZE", "5"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"NODE_RANK", "1"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_NAME", "default"},  // torchrun --role
      {"ROLE_RANK", "4"},
      {"ROLE_WORLD_SIZE", "5"},
      {"MASTER_ADDR", "addr-of-node0"},
      {"MASTER_PORT", "21000"},  // the first port that node 0 holds
      {"TORCHELASTIC_RUN_ID", "20261120-210142-k3f"},
      {"TORCHELASTIC_RESTART_COUNT", "1"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_USE_AGENT_STORE",
       "False"},  // Python's spelling; only rank 0 hosts a store
      {"TORCHELASTIC_ERROR_FILE",
       "/home/eve/project/runs/20261120-210142-k3f/attempt-1/rank-4.error.json"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},  // torchrun: kept if set, else 1
      {"LOCAL_SIZE", "2"},                       // DeepSpeed launcher's names
      {"CROSS_RANK", "1"},
      {"CROSS_SIZE", "2"},
      {"OMP_NUM_THREADS", "4"},  // docs/reference/variables.md: max(1, floor(8 cores / 2 ranks))
      {"PYTHONUNBUFFERED", "1"},
      {"DLAUNCH_RUN_ID", "20261120-210142-k3f"},
      {"DLAUNCH_RANK", "4"},
      {"DLAUNCH_WORLD_SIZE", "5"},
      {"DLAUNCH_LOCAL_RANK", "1"},
      {"DLAUNCH_NODE_RANK", "1"},
      {"DLAUNCH_HEARTBEAT_FILE",
       "/home/eve/project/runs/20261120-210142-k3f/attempt-1/rank-4.heartbeat"},
      {"DLAUNCH_ATTEMPT", "1"},
  };
  EXPECT_EQ(environment_of(plan, 4), expected);

  const Environment first = environment_of(plan, 0);
  EXPECT_EQ(first.at("LOCAL_WORLD_SIZE"), "3");
  EXPECT_EQ(first.at("OMP_NUM_THREADS"), "2");  // floor(8 / 3)
  EXPECT_EQ(first.at("NODE_RANK"), "0");
}

TEST(RankEnv, NoHeartbeatFileWhereNothingWatches) {
  JobSpec spec = list_job();
  spec.watch.after.reset();
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_FALSE(environment_of(plan, 0).contains("DLAUNCH_HEARTBEAT_FILE"));
}

TEST(RankEnv, OneNodeMeetsOnLoopback) {
  const LaunchPlan plan = plan_of(list_job(), fake_cluster({{.gpus = 2}}));
  EXPECT_EQ(environment_of(plan, 1).at("MASTER_ADDR"), "127.0.0.1");  // docs/reference/variables.md
  EXPECT_EQ(reason_of(plan.variables, "MASTER_ADDR"), "the only node");
}

TEST(RankEnv, NothingIsCopiedToRanksThatAllOfThemShare) {
  const LaunchPlan plan = plan_of(list_job(), fake_cluster({{.gpus = 2}}));
  std::vector<std::string> own, node;
  for (const Variable& v : plan.ranks[1].variables) own.push_back(v.name);
  for (const Variable& v : plan.nodes[0].variables) node.push_back(v.name);
  EXPECT_THAT(own, testing::UnorderedElementsAre("RANK", "LOCAL_RANK", "ROLE_RANK",
                                                 "TORCHELASTIC_ERROR_FILE", "DLAUNCH_RANK",
                                                 "DLAUNCH_LOCAL_RANK", "DLAUNCH_HEARTBEAT_FILE"));
  EXPECT_THAT(node, testing::UnorderedElementsAre(
                        "LOCAL_WORLD_SIZE", "LOCAL_SIZE", "NODE_RANK", "GROUP_RANK", "CROSS_RANK",
                        "OMP_NUM_THREADS", "PYTHONUNBUFFERED", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                        "DLAUNCH_NODE_RANK"));
}

TEST(RankEnv, PerNodeLeavesRanksToTheProgram) {
  // docs/reference/variables.md: per-node sets NODE_RANK, MASTER_*, GROUP_RANK, GROUP_WORLD_SIZE, and scrubs
  // RANK, LOCAL_RANK, WORLD_SIZE, TORCHELASTIC_*. No OMP_NUM_THREADS: torchrun divides the cores
  // among its own workers.
  JobSpec spec = list_job({"torchrun", "train.py"});
  spec.launch = Launch::per_node;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.gpus = 8}, {.gpus = 8}}));
  ASSERT_EQ(plan.ranks.size(), 2U);
  const Environment expected = {
      {"NODE_RANK", "1"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"MASTER_ADDR", "addr-of-node0"},
      {"MASTER_PORT", "21000"},
      {"PYTHONUNBUFFERED", "1"},
      {"DLAUNCH_RUN_ID", "20261120-210142-k3f"},
      {"DLAUNCH_RANK", "1"},
      {"DLAUNCH_WORLD_SIZE", "2"},
      {"DLAUNCH_LOCAL_RANK", "0"},
      {"DLAUNCH_NODE_RANK", "1"},
      {"DLAUNCH_HEARTBEAT_FILE",
       "/home/eve/project/runs/20261120-210142-k3f/attempt-0/rank-1.heartbeat"},
      {"DLAUNCH_ATTEMPT", "0"},
  };
  EXPECT_EQ(environment_of(plan, 1), expected);
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_*"}) {
    EXPECT_THAT(plan.scrubbed, Contains(name));
  }
  EXPECT_EQ(plan.ranks[1].gpus.size(), 8U)
      << "all of the node's GPUs are the process's own to divide";
}

TEST(RankEnv, NoneSetsNothingOfAnyFramework) {
  JobSpec spec = list_job();
  spec.framework = Framework::none;
  spec.processes = 2;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  for (const auto& [name, value] : environment_of(plan, 1))
    EXPECT_THAT(name, testing::StartsWith("DLAUNCH_"));
  EXPECT_EQ(environment_of(plan, 1).size(), 7U);
  EXPECT_EQ(plan.master, MasterPlan{});
  EXPECT_TRUE(plan.ranks[0].ports.empty());
}

TEST(RankEnv, ThreadsOfTheJobWinForEveryFramework) {
  for (const Framework framework : {Framework::pytorch, Framework::none, Framework::tensorflow}) {
    JobSpec spec = list_job();
    spec.framework = framework;
    spec.binding.threads = 3;
    EXPECT_EQ(environment_of(plan_of(spec, fake_cluster({{}})), 0).at("OMP_NUM_THREADS"), "3");
  }
}

// docs/reference/variables.md: OMP_NUM_THREADS, PYTHONUNBUFFERED, TORCH_NCCL_ASYNC_ERROR_HANDLING are kept if
// set.

TEST(RankEnv, KeptWhenTheCallerHasSetIt) {
  PlanContext context = fake_context();
  context.launcher_env = {{"OMP_NUM_THREADS", "5"}, {"PYTHONUNBUFFERED", ""}, {"RANK", "7"}};
  const LaunchPlan plan = plan_of(list_job(), fake_cluster({{.cores = 8}, {.cores = 8}}), context);
  EXPECT_EQ(environment_of(plan, 0).at("OMP_NUM_THREADS"), "5");
  EXPECT_EQ(environment_of(plan, 0).at("PYTHONUNBUFFERED"), "") << "set to nothing is set";
  EXPECT_EQ(environment_of(plan, 0).at("RANK"), "0") << "a rank variable is never kept";
  EXPECT_EQ(reason_of(plan.nodes[0].variables, "OMP_NUM_THREADS"),
            "kept: set where dlaunch was started");
  EXPECT_EQ(environment_of(plan, 1).at("OMP_NUM_THREADS"), "8")
      << "the caller's environment is not the other node's";
}

TEST(RankEnv, KeptWhenTheJobSetsOrPassesIt) {
  JobSpec spec = list_job();
  spec.env = {{"OMP_NUM_THREADS", "2"}};
  spec.env_pass = {"PYTHONUNBUFFERED"};
  PlanContext context = fake_context();
  context.launcher_env = {{"PYTHONUNBUFFERED", "x"}, {"OMP_NUM_THREADS", "5"}};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}, {}}), context);
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(environment_of(plan, rank).at("OMP_NUM_THREADS"), "2");
    EXPECT_EQ(environment_of(plan, rank).at("PYTHONUNBUFFERED"), "x");
  }
}

TEST(RankEnv, KeptWhenTheRoleSetsIt) {
  JobSpec spec = list_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 1)};
  spec.roles[1].env = {{"OMP_NUM_THREADS", "2"}, {"A", "role"}};
  spec.env = {{"A", "job"}};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.cores = 8}}));
  EXPECT_EQ(environment_of(plan, 0).at("OMP_NUM_THREADS"), "4");
  EXPECT_EQ(environment_of(plan, 0).at("A"), "job");
  EXPECT_EQ(environment_of(plan, 1).at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(environment_of(plan, 1).at("A"), "role") << "role env wins over env";
}

TEST(RankEnv, RolesOfAPytorchJobHaveTheirOwnNumbers) {
  JobSpec spec = list_job();
  spec.roles = {test::role("chief", 1), test::role("worker", 2)};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_EQ(environment_of(plan, 2).at("ROLE_NAME"),
            "worker");  // torchrun: rank and size inside the role
  EXPECT_EQ(environment_of(plan, 2).at("ROLE_RANK"), "1");
  EXPECT_EQ(environment_of(plan, 2).at("ROLE_WORLD_SIZE"), "2");
  EXPECT_EQ(environment_of(plan, 0).at("ROLE_WORLD_SIZE"), "1");
}

TEST(RankEnv, NothingOverridesARankVariable) {
  JobSpec spec = list_job();
  spec.env_pass = {"RANK", "MASTER_ADDR", "*"};
  PlanContext context = fake_context();
  context.launcher_env = {{"RANK", "7"}, {"MASTER_ADDR", "elsewhere"}, {"WORLD_SIZE", "9"}};
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}), context);
  EXPECT_EQ(environment_of(plan, 0).at("RANK"), "0");
  EXPECT_EQ(environment_of(plan, 0).at("MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(environment_of(plan, 0).at("WORLD_SIZE"), "1");
}

TEST(Scrub, RemovesTheIdentityOfAnOuterLauncher) {
  // srun, Hydra (MPICH, Intel MPI), PMIx, Open MPI 4, torchrun, Kubeflow, jsrun, PALS: what each
  // sets per process
  for (const char* name : {"SLURM_PROCID",
                           "SLURM_LOCALID",
                           "PMI_RANK",
                           "PMI_FD",
                           "PMIX_RANK",
                           "PMIX_NAMESPACE",
                           "OMPI_COMM_WORLD_RANK",
                           "OMPI_MCA_orte_hnp_uri",
                           "TORCHELASTIC_USE_AGENT_STORE",
                           "TF_CONFIG",
                           "PET_NODE_RANK",
                           "MPI_LOCALRANKID",
                           "JSM_JSRUN_PORT",
                           "JSM_NAMESPACE_RANK",
                           "OMPI_MCA_ess",
                           "OMPI_MCA_pmix",
                           "OMPI_COMMAND",
                           "HYDI_CONTROL_FD",
                           "I_MPI_PIN_MAPPING",
                           "HYDRA_BSTRAP_UPSTREAM_FD",
                           "PALS_RANKID"}) {
    EXPECT_TRUE(is_scrubbed(name)) << name;
  }
  // A job's id, node list and cores stay: programs look for them; so do the user's own settings.
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "OMPI_MCA_btl", "OMPI_MCA_pml", "I_MPI_DEBUG",
        "I_MPI_PIN", "HYDRA_LAUNCHER", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "PATH",
        "PET_NPROC_PER_NODE", "HOROVOD_FUSION_THRESHOLD"}) {
    EXPECT_FALSE(is_scrubbed(name)) << name;
  }
}

TEST(RankEnv, AFileForTheDeadlineWhereASchedulerTellsOne) {
  PlanContext context = fake_context();
  const auto without = make_plan(list_job(), fake_cluster({{}}), context);
  ASSERT_TRUE(without);
  EXPECT_FALSE(environment_of(*without, 0).contains("DLAUNCH_DEADLINE_FILE"));
  context.launcher_env = {{"SLURM_JOB_ID", "7"}};
  const auto plan = make_plan(list_job(), fake_cluster({{}}), context);
  ASSERT_TRUE(plan);
  EXPECT_EQ(environment_of(*plan, 0).at("DLAUNCH_DEADLINE_FILE"),
            context.run_folder + "/attempt-0/deadline");
}

}  // namespace
}  // namespace dlaunch
