#include "report/plan_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Planned {
  Cluster cluster;
  LaunchPlan plan;
};

Planned planned(const JobSpec& spec, const std::vector<test::NodeShape>& shapes,
                const Environment& launcher_env = {}) {
  Planned result{test::fake_cluster(shapes), {}};
  PlanContext context = test::fake_context();
  context.launcher_env = launcher_env;
  auto plan = make_plan(spec, result.cluster, context);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  if (plan) result.plan = std::move(*plan);
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Columns line up, and the cause comes before the detail.

TEST(PlanText, TwoUnevenNodes) {
  JobSpec spec = test::list_job();
  spec.name = "cifar-ddp";
  spec.command = {true, "python train.py --epochs 3", {}};
  spec.env = {{"NCCL_DEBUG", "WARN"}};
  spec.env_pass = {"WANDB_API_KEY"};
  spec.env_secret = {"HF_TOKEN"};
  const auto [cluster, plan] = planned(
      spec, {{.gpus = 2, .cores = 16, .numa_nodes = 2}, {.gpus = 1}}, {{"HF_TOKEN", "hush"}});
  EXPECT_EQ(plan_text(plan, cluster),
            R"(cifar-ddp  python train.py --epochs 3   pytorch, per-process, 3 ranks on 2 nodes
workdir    /home/eve/project
master     addr-of-node0:21000 on node0         the first node
cpus       bound to cores near each rank's GPU

rank  node   local  gpu  cpus  numa
   0  node0      0  all  0-7      0
   1  node0      1  all  8-15     1
   2  node1      0  all  0-7      0

every rank     WORLD_SIZE=3 MASTER_ADDR=addr-of-node0 MASTER_PORT=21000
               OMP_NUM_THREADS=8 GROUP_WORLD_SIZE=2 ROLE_NAME=default
               ROLE_WORLD_SIZE=3 CROSS_SIZE=2
               TORCHELASTIC_RUN_ID=20261120-210142-k3f
               TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_MAX_RESTARTS=0
               TORCHELASTIC_USE_AGENT_STORE=False
               TORCH_NCCL_ASYNC_ERROR_HANDLING=1 PYTHONUNBUFFERED=1
               DLAUNCH_RUN_ID=20261120-210142-k3f DLAUNCH_WORLD_SIZE=3
               DLAUNCH_ATTEMPT=0
by node        LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK LOCAL_SIZE CROSS_RANK
               DLAUNCH_NODE_RANK
by rank        RANK LOCAL_RANK ROLE_RANK TORCHELASTIC_ERROR_FILE DLAUNCH_RANK
               DLAUNCH_LOCAL_RANK DLAUNCH_HEARTBEAT_FILE
yours          NCCL_DEBUG=WARN                  env of the job
passed         HF_TOKEN                         env_secret, never shown
not passed     WANDB_API_KEY                    named in the job, not set here
)");
}

TEST(PlanText, WhatASyncIsAbout) {
  Planned two = planned(test::list_job({"true"}), {{}, {}});
  EXPECT_THAT(plan_text(two.plan, two.cluster), Not(HasSubstr("sync")));
  two.plan.sync = SyncExtent{12, 3'400'000};
  EXPECT_THAT(plan_text(two.plan, two.cluster), HasSubstr("12 files, 3.4 MB to the other nodes"));
  for (const std::string& line : lines_of(plan_text(two.plan, two.cluster)))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(PlanText, WhatIsStaged) {
  Planned one = planned(test::list_job({"true"}), {{}});
  one.plan.staged = {{"/home/eve/venv", "/home/eve/venv", false, SyncExtent{12, 3'400'000}},
                     {"/home/eve/data.tar", "/local/data", true, SyncExtent{1, 5'000'000}},
                     {"gpu01:/data", "/local/more", false, std::nullopt}};
  const std::string text = plan_text(one.plan, one.cluster);
  EXPECT_THAT(text, HasSubstr("stage     12 files, 3.4 MB to /home/eve/venv"));
  EXPECT_THAT(text, HasSubstr("from the same path"));
  EXPECT_THAT(text, HasSubstr("          1 file, 5.0 MB unpacked into /local/data"));
  EXPECT_THAT(text, HasSubstr("          to /local/more"));
  EXPECT_THAT(text, HasSubstr("from gpu01:/data"));
}

TEST(PlanText, RolesHaveAColumnAndTheirCommands) {
  JobSpec spec = test::list_job({"python", "worker.py"});
  spec.framework = Framework::tensorflow;
  spec.roles = {test::role("worker", 2), test::role("ps", 1)};
  spec.roles[1].command = Command{false, "", {"python", "ps.py"}};
  spec.roles[1].env = {{"A", "b"}};
  spec.success = Success::workers;
  const auto [cluster, plan] = planned(spec, {{.gpus = 2, .cores = 2}});
  EXPECT_EQ(plan_text(plan, cluster),
            R"(job       tensorflow, per-process, 3 ranks on 1 node
  worker  python worker.py
  ps      python ps.py
workdir   /home/eve/project
cpus      not bound: 3 ranks but 2 cores

rank  node   local  role    gpu  cpus       numa
   0  node0      0  worker  all  not bound     -
   1  node0      1  worker  all  not bound     -
   2  node0      2  ps      -    not bound     -

every rank     PYTHONUNBUFFERED=1 DLAUNCH_RUN_ID=20261120-210142-k3f
               DLAUNCH_WORLD_SIZE=3 DLAUNCH_NODE_RANK=0 DLAUNCH_ATTEMPT=0
by rank        TF_CONFIG CUDA_VISIBLE_DEVICES DLAUNCH_RANK DLAUNCH_LOCAL_RANK
               DLAUNCH_HEARTBEAT_FILE
yours          A=b                              env of the role ps
note           node0: TensorFlow takes every GPU that it sees; use binding.gpus:
               one-per-process
)");
}

TEST(PlanText, OneLauncherAndItsHostfile) {
  JobSpec spec = test::list_job({"deepspeed", "train.py"});
  spec.launch = Launch::once;
  const auto [cluster, plan] = planned(spec, {{.gpus = 8}, {.gpus = 4}});
  const std::string text = plan_text(plan, cluster);
  EXPECT_THAT(text, HasSubstr("pytorch, once, 12 slots on 2 nodes\n"));
  EXPECT_THAT(text, HasSubstr(R"(
hostfile       node0 slots=8                   written before the process starts
               node1 slots=4

every rank )"));
  const std::string env = plan_env_text(plan, cluster, Rank(0));
  EXPECT_THAT(env, HasSubstr("DLAUNCH_SLOTS=12 "));
  EXPECT_THAT(env, HasSubstr("# processes for these nodes\n"));
}

TEST(PlanText, EachRoleHasItsCommandAndVariables) {
  JobSpec spec = test::list_job();
  spec.framework = Framework::tensorflow;
  spec.name = "ps";
  spec.success = Success::chief;
  spec.roles = {test::role("worker", 1), test::role("ps", 1), test::role("evaluator", 1)};
  spec.roles[1].command = Command{false, "", {"serve"}};
  spec.roles[1].env = {{"A", "1"}};
  const auto [cluster, plan] = planned(spec, {{}});
  EXPECT_THAT(plan_text(plan, cluster),
              testing::StartsWith(R"(ps           tensorflow, per-process, 3 ranks on 1 node
  worker     python train.py
  ps         serve
  evaluator  python train.py
)"));
  EXPECT_THAT(plan_text(plan, cluster),
              HasSubstr("by rank        TF_CONFIG CUDA_VISIBLE_DEVICES DLAUNCH_RANK"))
      << "the variables of any role";
}

TEST(PlanText, LongJobsAreAbbreviated) {
  const std::vector<test::NodeShape> shapes(
      12, test::NodeShape{.gpus = 8, .cores = 64, .numa_nodes = 2});
  const auto [cluster, plan] = planned(test::list_job(), shapes);
  const std::string text = plan_text(plan, cluster);
  EXPECT_THAT(text, HasSubstr("  63  node7       7  all  56-63     1\n      ... 2 more nodes\n  80 "
                              " node10      0  all"));

  JobSpec spec = test::list_job();
  spec.processes = 100;
  const auto wide = planned(spec, {{.cores = 128}});
  EXPECT_THAT(plan_text(wide.plan, wide.cluster),
              HasSubstr("   7  node0      7  -    14-15     0\n"
                        "      ... 90 more ranks on node0\n"
                        "  98  node0     98  -    126       0\n"));
}

TEST(PlanText, FitsIn80Columns) {
  JobSpec spec = test::list_job();
  spec.name = "a-name-that-is-much-longer-than-any-column-could-be";
  spec.command = {true, "python train.py " + std::string(200, 'x') + "\necho done", {}};
  spec.env = {{"LONG", std::string(200, 'y')}};
  const auto [cluster, plan] =
      planned(spec, {{.gpus = 8, .cores = 64, .numa_nodes = 2, .threads_per_core = 2}});
  for (const std::string& line : lines_of(plan_text(plan, cluster)))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(PlanText, ColumnsAreCharactersAndACommandIsOneLine) {
  JobSpec spec = test::list_job();
  spec.name = "\u00fc\u00f1";
  spec.command = {false, "", {"python", "-c", "import os\nprint(1)"}};
  const auto broken = planned(spec, {{}});
  EXPECT_EQ(lines_of(plan_text(broken.plan, broken.cluster))[0],
            "\u00fc\u00f1        python -c 'import os\\nprint(1)'");
  spec.command = {false, "", {"true"}};
  const auto plain = planned(spec, {{}});
  EXPECT_EQ(lines_of(plan_text(plain.plan, plain.cluster))[0].size(), 80U + 2U)
      << "80 columns, two of them with two bytes";
}

TEST(PlanText, OneGpuEachIsNamed) {
  JobSpec spec = test::list_job();
  spec.binding.gpus = Binding::Gpus::one_per_process;
  const auto [cluster, plan] = planned(spec, {{.gpus = 2, .cores = 2}});
  EXPECT_THAT(plan_text(plan, cluster), HasSubstr("   1  node0      1  1    1        0\n"));
}

TEST(PlanText, UnevenBindingIsSaidByNode) {
  const auto [cluster, plan] =
      planned(test::list_job(), {{.gpus = 2, .cores = 2}, {.gpus = 2, .cores = 1}});
  EXPECT_THAT(plan_text(plan, cluster),
              HasSubstr("cpus      bound to cores near each rank's GPU   node0\n"
                        "          not bound: 2 ranks but 1 core         node1\n"));
}

TEST(PlanEnvText, EachVariableWithItsReason) {
  JobSpec spec = test::list_job();
  spec.env = {{"GREETING", "it's me"}};
  spec.env_secret = {"HF_TOKEN"};
  const auto [cluster, plan] =
      planned(spec, {{.gpus = 2, .cores = 8}}, {{"HF_TOKEN", "hush"}, {"OMP_NUM_THREADS", "3"}});
  const std::string text = plan_env_text(plan, cluster, Rank(1));
  const auto lines = lines_of(text);
  EXPECT_EQ(lines[0],
            "RANK=1                                   # global rank, hosts in the order given");
  EXPECT_THAT(lines, testing::Contains("MASTER_ADDR=127.0.0.1                    # the only node"));
  EXPECT_THAT(
      lines, testing::Contains(
                 "OMP_NUM_THREADS=3                        # kept: set where dlaunch was started"));
  EXPECT_THAT(lines,
              testing::Contains("GREETING='it'\\''s me'                    # env of the job"));
  EXPECT_THAT(lines,
              testing::Contains("HF_TOKEN=***                             # env_secret: HF_TOKEN"));
  EXPECT_THAT(text, Not(HasSubstr("hush")));
  const auto comment = std::find_if(lines.begin(), lines.end(),
                                    [](const std::string& l) { return l.starts_with("# not"); });
  ASSERT_NE(comment, lines.end());
  EXPECT_THAT(text.substr(text.find("# not")), HasSubstr("SLURM_PROCID"));
}

}  // namespace
}  // namespace dlaunch
